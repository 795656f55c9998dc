package edge

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// A decision is what follows from a view: where requests go, and what to tell the cluster.
type decision struct {
	table   table
	changes []change
	// What the statuses shall be, also where they are so already: for tests.
	classes    []*gatewayv1.GatewayClass
	gateways   []*gatewayv1.Gateway
	httpRoutes []*gatewayv1.HTTPRoute
	grpcRoutes []*gatewayv1.GRPCRoute
	ingresses  []*networkingv1.Ingress
	services   []*corev1.Service
	claims     []*corev1.PersistentVolumeClaim
	volumes    []*corev1.PersistentVolume
}

// A change is one write; objects carry the version that was looked at, so that it never undoes
// what it has not seen.
type change func(context.Context, *edge) error

func decide(v view, endpoint Endpoint) decision {
	var d decision
	d.decideClasses(v)
	listeners := d.ownListeners(v, endpoint)
	d.decideRoutes(v, listeners)
	d.decideGateways(v, listeners, endpoint)
	d.decideIngresses(v, endpoint)
	d.decideBalancers(v)
	d.decideVolumes(v)
	d.table.sort()
	return d
}

func (d *decision) decideClasses(v view) {
	for _, seen := range v.classes {
		if seen.Spec.ControllerName != ControllerName {
			continue
		}
		class := seen.DeepCopy()
		conditions{&class.Status.Conditions, class.Generation}.
			set(string(gatewayv1.GatewayClassConditionStatusAccepted), true, string(gatewayv1.GatewayClassReasonAccepted), "")
		d.classes = append(d.classes, class)
		d.report(seen.Status, class.Status, func(ctx context.Context, e *edge) error {
			_, err := e.gateway.GatewayV1().GatewayClasses().UpdateStatus(ctx, class, metav1.UpdateOptions{})
			return err
		})
	}
}

// report asks for a write only where it would change something: an idle cluster stays idle.
func (d *decision) report(seen, decided any, write change) {
	if !equality.Semantic.DeepEqual(seen, decided) {
		d.changes = append(d.changes, write)
	}
}

// conditions are those of one object, at the generation that was looked at.
type conditions struct {
	list       *[]metav1.Condition
	generation int64
}

func (c conditions) set(kind string, holds bool, reason, message string) {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(c.list, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: c.generation,
	})
}

// older says which of two objects wins where both want the same.
func older(a, b metav1.Object) bool {
	first, second := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	switch {
	case !first.Equal(&second):
		return first.Before(&second)
	case a.GetNamespace() != b.GetNamespace():
		return a.GetNamespace() < b.GetNamespace()
	}
	return a.GetName() < b.GetName()
}

// oldestFirst does not touch the list that it is given.
func oldestFirst[T metav1.Object](objects []T) []T {
	sorted := slices.Clone(objects)
	slices.SortFunc(sorted, func(a, b T) int {
		if older(a, b) {
			return -1
		}
		return 1
	})
	return sorted
}
