package edge

import (
	"context"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// A route is what HTTPRoutes and GRPCRoutes have in common.
type route struct {
	kind    gatewayv1.Kind
	object  metav1.Object
	hosts   []gatewayv1.Hostname
	parents []gatewayv1.ParentReference
	rules   []rule
	// unsupported is what the route asks for and this gateway cannot do, or empty.
	unsupported string
}

type rule struct {
	matches  []match
	backends []gatewayv1.BackendRef
}

// everything is what a rule without matches means.
var everything = match{path: "/"}

func httpRoute(object *gatewayv1.HTTPRoute) route {
	r := route{kind: "HTTPRoute", object: object, hosts: object.Spec.Hostnames, parents: object.Spec.ParentRefs}
	for _, from := range object.Spec.Rules {
		var to rule
		for _, m := range from.Matches {
			path, exact := "/", false
			if m.Path != nil && m.Path.Value != nil {
				path = *m.Path.Value
			}
			if m.Path != nil && m.Path.Type != nil {
				exact = *m.Path.Type == gatewayv1.PathMatchExact
				if *m.Path.Type == gatewayv1.PathMatchRegularExpression {
					r.unsupported = "matches by regular expression"
				}
			}
			if m.Method != nil || len(m.Headers)+len(m.QueryParams) > 0 {
				r.unsupported = "matches by method, header or query"
			}
			to.matches = append(to.matches, match{path: path, exact: exact})
		}
		if len(from.Filters) > 0 || from.Timeouts != nil || from.Retry != nil || from.SessionPersistence != nil {
			r.unsupported = "filters, timeouts, retries and session persistence"
		}
		for _, backend := range from.BackendRefs {
			if len(backend.Filters) > 0 {
				r.unsupported = "filters of a backend"
			}
			to.backends = append(to.backends, backend.BackendRef)
		}
		r.rules = append(r.rules, to)
	}
	return r
}

func grpcRoute(object *gatewayv1.GRPCRoute) route {
	r := route{kind: "GRPCRoute", object: object, hosts: object.Spec.Hostnames, parents: object.Spec.ParentRefs}
	for _, from := range object.Spec.Rules {
		var to rule
		for _, m := range from.Matches {
			if len(m.Headers) > 0 {
				r.unsupported = "matches by header"
			}
			matched, possible := methodMatch(m.Method)
			if !possible {
				r.unsupported = "matches by regular expression or by method without service"
			}
			to.matches = append(to.matches, matched)
		}
		if len(from.Filters) > 0 || from.SessionPersistence != nil {
			r.unsupported = "filters and session persistence"
		}
		for _, backend := range from.BackendRefs {
			if len(backend.Filters) > 0 {
				r.unsupported = "filters of a backend"
			}
			to.backends = append(to.backends, backend.BackendRef)
		}
		r.rules = append(r.rules, to)
	}
	return r
}

// methodMatch uses that a call of gRPC is a request for /SERVICE/METHOD.
func methodMatch(method *gatewayv1.GRPCMethodMatch) (m match, possible bool) {
	switch {
	case method == nil:
		return everything, true
	case method.Type != nil && *method.Type != gatewayv1.GRPCMethodMatchExact, method.Service == nil:
		return match{}, false
	case method.Method == nil:
		return match{path: "/" + *method.Service}, true
	}
	return match{path: "/" + *method.Service + "/" + *method.Method, exact: true}, true
}

func (d *decision) decideRoutes(v view, listeners []*listener) {
	for _, seen := range oldestFirst(v.httpRoutes) {
		object := seen.DeepCopy()
		object.Status.Parents = d.decideRoute(v, listeners, httpRoute(seen), object.Status.Parents)
		d.httpRoutes = append(d.httpRoutes, object)
		d.report(seen.Status, object.Status, func(ctx context.Context, e *edge) error {
			_, err := e.gateway.GatewayV1().HTTPRoutes(object.Namespace).UpdateStatus(ctx, object, metav1.UpdateOptions{})
			return err
		})
	}
	for _, seen := range oldestFirst(v.grpcRoutes) {
		object := seen.DeepCopy()
		object.Status.Parents = d.decideRoute(v, listeners, grpcRoute(seen), object.Status.Parents)
		d.grpcRoutes = append(d.grpcRoutes, object)
		d.report(seen.Status, object.Status, func(ctx context.Context, e *edge) error {
			_, err := e.gateway.GatewayV1().GRPCRoutes(object.Namespace).UpdateStatus(ctx, object, metav1.UpdateOptions{})
			return err
		})
	}
}

// decideRoute attaches a route to its listeners and returns the statuses for its parents. Those of
// other controllers stay as they are.
func (d *decision) decideRoute(v view, listeners []*listener, r route, before []gatewayv1.RouteParentStatus) []gatewayv1.RouteParentStatus {
	after := slices.DeleteFunc(slices.Clone(before), func(status gatewayv1.RouteParentStatus) bool {
		return status.ControllerName == ControllerName
	})
	targets, resolved := v.resolveRules(r)
	for _, reference := range r.parents {
		own := listenersOf(listeners, reference, r.object.GetNamespace())
		if len(own) == 0 {
			continue // another controller's, or none's
		}
		status := gatewayv1.RouteParentStatus{ParentRef: reference, ControllerName: ControllerName}
		for _, old := range before {
			if old.ControllerName == ControllerName && reflect.DeepEqual(old.ParentRef, reference) {
				old.DeepCopyInto(&status)
			}
		}
		refused, message := d.attach(v, own, r, reference, targets)
		c := conditions{&status.Conditions, r.object.GetGeneration()}
		reason := gatewayv1.RouteReasonAccepted
		if refused != "" {
			reason = refused
		}
		c.set(string(gatewayv1.RouteConditionAccepted), refused == "", string(reason), message)
		c.set(string(gatewayv1.RouteConditionResolvedRefs), resolved.ok(), string(resolved.reason), resolved.message)
		after = append(after, status)
	}
	return after
}

// listenersOf returns those of the Gateway that a route names as its parent, if it is one of ours.
func listenersOf(listeners []*listener, reference gatewayv1.ParentReference, namespace string) []*listener {
	if reference.Group != nil && *reference.Group != gatewayv1.GroupName || reference.Kind != nil && *reference.Kind != "Gateway" {
		return nil
	}
	if reference.Namespace != nil {
		namespace = string(*reference.Namespace)
	}
	var found []*listener
	for _, l := range listeners {
		if l.gateway.Namespace == namespace && l.gateway.Name == string(reference.Name) {
			found = append(found, l)
		}
	}
	return found
}

// attach adds the rules of a route to the table for each listener that takes it, or says why none does.
func (d *decision) attach(v view, own []*listener, r route, reference gatewayv1.ParentReference, targets []*target) (refused gatewayv1.RouteConditionReason, message string) {
	named := slices.DeleteFunc(slices.Clone(own), func(l *listener) bool {
		return reference.SectionName != nil && *reference.SectionName != l.spec.Name ||
			reference.Port != nil && *reference.Port != l.spec.Port
	})
	if len(named) == 0 {
		return gatewayv1.RouteReasonNoMatchingParent, "the Gateway has no listener of that name and port"
	}
	allowing := slices.DeleteFunc(named, func(l *listener) bool { return !l.allows(r.kind, r.object.GetNamespace(), v.namespaces) })
	if len(allowing) == 0 {
		return gatewayv1.RouteReasonNotAllowedByListeners, "no listener takes routes of this kind from this namespace"
	}
	matching := slices.DeleteFunc(allowing, func(l *listener) bool { return len(hostsOf(l.spec.Hostname, r.hosts)) == 0 })
	if len(matching) == 0 {
		return gatewayv1.RouteReasonNoMatchingListenerHostname, "no host name of the route fits one of a listener"
	}
	if r.unsupported != "" {
		return gatewayv1.RouteReasonUnsupportedValue, "the gateway of the local cluster lacks " + r.unsupported
	}
	for _, l := range matching {
		l.attached++
		if !l.works() {
			continue
		}
		for _, host := range hostsOf(l.spec.Hostname, r.hosts) {
			d.addRules(host, r.rules, targets)
		}
	}
	return "", ""
}

func (d *decision) addRules(host string, rules []rule, targets []*target) {
	for i, from := range rules {
		matches := from.matches
		if len(matches) == 0 {
			matches = []match{everything}
		}
		for _, m := range matches {
			m.host = host
			d.table = append(d.table, entry{match: m, target: targets[i]})
		}
	}
}

// hostsOf returns the host names that both a listener and a route mean; "" is every host.
func hostsOf(listener *gatewayv1.Hostname, route []gatewayv1.Hostname) []string {
	if listener == nil || *listener == "" {
		if len(route) == 0 {
			return []string{""}
		}
		return toStrings(route)
	}
	if len(route) == 0 {
		return []string{string(*listener)}
	}
	var both []string
	for _, host := range toStrings(route) {
		switch wide := string(*listener); {
		case host == wide, covers(wide, host):
			both = append(both, host)
		case covers(host, wide):
			both = append(both, wide)
		}
	}
	return both
}

// covers says whether a name with a wildcard means at least all that another means.
func covers(wildcard, host string) bool {
	suffix, isWildcard := strings.CutPrefix(wildcard, "*")
	return isWildcard && strings.HasSuffix(strings.TrimPrefix(host, "*"), suffix) && host != suffix
}

func toStrings(hosts []gatewayv1.Hostname) []string {
	var texts []string
	for _, host := range hosts {
		texts = append(texts, string(host))
	}
	return texts
}
