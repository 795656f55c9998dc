package edge

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// decideIngresses serves every Ingress of the one class at the same address as the Gateways.
func (d *decision) decideIngresses(v view, endpoint Endpoint) {
	for _, seen := range oldestFirst(v.ingresses) {
		if seen.Spec.IngressClassName == nil || *seen.Spec.IngressClassName != ClassName {
			continue
		}
		d.addIngress(v, seen)
		ingress := seen.DeepCopy()
		ingress.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{
			IP:    endpoint.Address,
			Ports: []networkingv1.IngressPortStatus{{Port: endpoint.Port, Protocol: corev1.ProtocolTCP}},
		}}
		d.ingresses = append(d.ingresses, ingress)
		d.report(seen.Status, ingress.Status, func(ctx context.Context, e *edge) error {
			_, err := e.core.NetworkingV1().Ingresses(ingress.Namespace).UpdateStatus(ctx, ingress, metav1.UpdateOptions{})
			return err
		})
	}
}

func (d *decision) addIngress(v view, ingress *networkingv1.Ingress) {
	add := func(m match, to networkingv1.IngressBackend) {
		d.table = append(d.table, entry{match: m, target: v.ingressTarget(ingress.Namespace, to)})
	}
	if ingress.Spec.DefaultBackend != nil {
		add(everything, *ingress.Spec.DefaultBackend)
	}
	for _, rule := range ingress.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for _, path := range rule.HTTP.Paths {
			m := match{host: rule.Host, oneLabel: true, path: path.Path}
			m.exact = path.PathType != nil && *path.PathType == networkingv1.PathTypeExact
			if m.path == "" {
				m.path = "/"
			}
			add(m, path.Backend)
		}
	}
}

func (v view) ingressTarget(namespace string, to networkingv1.IngressBackend) *target {
	b := backend{missing: true}
	if to.Service != nil {
		if service := v.service(namespace, to.Service.Name); service != nil {
			for _, port := range service.Spec.Ports {
				named, numbered := to.Service.Port.Name, to.Service.Port.Number
				if port.Protocol != corev1.ProtocolUDP && (named != "" && port.Name == named || numbered != 0 && port.Port == numbered) {
					b, _ = v.backendOf(service, port)
				}
			}
		}
	}
	b.weight = 1
	return &target{backends: []backend{b}}
}
