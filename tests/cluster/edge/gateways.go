package edge

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// A listener is one of a Gateway of ours.
type listener struct {
	gateway *gatewayv1.Gateway
	spec    gatewayv1.Listener
	// kinds are those of the routes that it takes; unknownKinds says that it asked for others too.
	kinds        []gatewayv1.RouteGroupKind
	unknownKinds bool
	// refused is why nothing comes in here, or empty.
	refused gatewayv1.ListenerConditionReason
	message string
	// attached counts the routes that it took.
	attached int32
}

func (l *listener) works() bool { return l.refused == "" }

var routeKinds = []gatewayv1.Kind{"HTTPRoute", "GRPCRoute"}

func (d *decision) ownListeners(v view, endpoint Endpoint) []*listener {
	var found []*listener
	for _, gateway := range v.gateways {
		if !slices.ContainsFunc(d.classes, func(class *gatewayv1.GatewayClass) bool {
			return class.Name == string(gateway.Spec.GatewayClassName)
		}) {
			continue
		}
		for _, spec := range gateway.Spec.Listeners {
			found = append(found, newListener(gateway, spec, endpoint))
		}
	}
	return found
}

func newListener(gateway *gatewayv1.Gateway, spec gatewayv1.Listener, endpoint Endpoint) *listener {
	l := &listener{gateway: gateway, spec: spec}
	switch {
	case spec.Protocol != gatewayv1.HTTPProtocolType:
		l.refused = gatewayv1.ListenerReasonUnsupportedProtocol
		l.message = "only HTTP is served here"
	case spec.Port != endpoint.Port:
		l.refused = gatewayv1.ListenerReasonPortUnavailable
		l.message = fmt.Sprintf("the gateway of the local cluster listens on port %d alone", endpoint.Port)
	}
	var asked []gatewayv1.RouteGroupKind
	if spec.AllowedRoutes != nil {
		asked = spec.AllowedRoutes.Kinds
	}
	if len(asked) == 0 {
		for _, kind := range routeKinds {
			asked = append(asked, gatewayv1.RouteGroupKind{Kind: kind})
		}
	}
	group := gatewayv1.Group(gatewayv1.GroupName)
	for _, kind := range asked {
		if (kind.Group == nil || *kind.Group == group) && slices.Contains(routeKinds, kind.Kind) {
			l.kinds = append(l.kinds, gatewayv1.RouteGroupKind{Group: &group, Kind: kind.Kind})
		} else {
			l.unknownKinds = true
		}
	}
	return l
}

// allows says whether routes of that kind and namespace may attach.
func (l *listener) allows(kind gatewayv1.Kind, namespace string, all []*corev1.Namespace) bool {
	if !slices.ContainsFunc(l.kinds, func(k gatewayv1.RouteGroupKind) bool { return k.Kind == kind }) {
		return false
	}
	from, allowed := gatewayv1.NamespacesFromSame, l.spec.AllowedRoutes
	if allowed != nil && allowed.Namespaces != nil && allowed.Namespaces.From != nil {
		from = *allowed.Namespaces.From
	}
	switch from {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return namespace == l.gateway.Namespace
	case gatewayv1.NamespacesFromSelector:
		selector, err := metav1.LabelSelectorAsSelector(allowed.Namespaces.Selector)
		return err == nil && slices.ContainsFunc(all, func(n *corev1.Namespace) bool {
			return n.Name == namespace && selector.Matches(labels.Set(n.Labels))
		})
	}
	return false
}

func (d *decision) decideGateways(v view, listeners []*listener, endpoint Endpoint) {
	for _, seen := range v.gateways {
		var own []*listener
		for _, l := range listeners {
			if l.gateway == seen {
				own = append(own, l)
			}
		}
		if len(own) == 0 {
			continue
		}
		gateway := seen.DeepCopy()
		setGatewayStatus(gateway, own, endpoint)
		d.gateways = append(d.gateways, gateway)
		d.report(seen.Status, gateway.Status, func(ctx context.Context, e *edge) error {
			_, err := e.gateway.GatewayV1().Gateways(gateway.Namespace).UpdateStatus(ctx, gateway, metav1.UpdateOptions{})
			return err
		})
	}
}

func setGatewayStatus(gateway *gatewayv1.Gateway, own []*listener, endpoint Endpoint) {
	kind := gatewayv1.IPAddressType
	gateway.Status.Addresses = []gatewayv1.GatewayStatusAddress{{Type: &kind, Value: endpoint.Address}}
	working := 0
	var statuses []gatewayv1.ListenerStatus
	for _, l := range own {
		if l.works() {
			working++
		}
		statuses = append(statuses, l.status())
	}
	gateway.Status.Listeners = statuses
	c := conditions{&gateway.Status.Conditions, gateway.Generation}
	accepted, message := gatewayv1.GatewayReasonAccepted, ""
	if working < len(own) {
		accepted, message = gatewayv1.GatewayReasonListenersNotValid, "the conditions of the listeners say what is wrong"
	}
	c.set(string(gatewayv1.GatewayConditionAccepted), working > 0, string(accepted), message)
	programmed, message := gatewayv1.GatewayReasonProgrammed, ""
	if working == 0 {
		programmed, message = gatewayv1.GatewayReasonInvalid, "no listener works"
	}
	c.set(string(gatewayv1.GatewayConditionProgrammed), working > 0, string(programmed), message)
}

// status keeps the times of conditions that were there before.
func (l *listener) status() gatewayv1.ListenerStatus {
	status := gatewayv1.ListenerStatus{Name: l.spec.Name}
	for _, before := range l.gateway.Status.Listeners {
		if before.Name == l.spec.Name {
			before.DeepCopyInto(&status)
		}
	}
	status.SupportedKinds = l.kinds
	if status.SupportedKinds == nil {
		status.SupportedKinds = []gatewayv1.RouteGroupKind{}
	}
	status.AttachedRoutes = l.attached
	c := conditions{&status.Conditions, l.gateway.Generation}
	accepted, programmed := gatewayv1.ListenerReasonAccepted, gatewayv1.ListenerReasonProgrammed
	if !l.works() {
		accepted, programmed = l.refused, gatewayv1.ListenerReasonInvalid
	}
	resolved := gatewayv1.ListenerReasonResolvedRefs
	if l.unknownKinds {
		resolved = gatewayv1.ListenerReasonInvalidRouteKinds
	}
	c.set(string(gatewayv1.ListenerConditionAccepted), l.works(), string(accepted), l.message)
	c.set(string(gatewayv1.ListenerConditionProgrammed), l.works(), string(programmed), l.message)
	c.set(string(gatewayv1.ListenerConditionResolvedRefs), !l.unknownKinds, string(resolved), "")
	c.set(string(gatewayv1.ListenerConditionConflicted), false, string(gatewayv1.ListenerReasonNoConflicts), "")
	return status
}
