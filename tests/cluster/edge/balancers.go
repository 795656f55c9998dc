package edge

import (
	"context"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BalancerSubnet has the addresses of load balancers. Where there is a node, the machine routes it
// to the node's bridge, and kube-proxy leads each address on to the pods. Its first address is the
// node's own.
const BalancerSubnet = "10.215.0.0/24"

// decideBalancers gives each load balancer an address that no other has, and leaves it that.
func (d *decision) decideBalancers(v view) {
	taken := map[string]bool{}
	for _, service := range v.services {
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			taken[ingress.IP] = true
		}
	}
	for _, seen := range oldestFirst(v.services) {
		if !waitsForAddress(seen) {
			continue
		}
		address := freeAddress(taken)
		if address == "" {
			continue // the subnet is full: it waits, as with any other provider
		}
		taken[address] = true
		service := seen.DeepCopy()
		service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
		d.services = append(d.services, service)
		d.report(seen.Status, service.Status, func(ctx context.Context, e *edge) error {
			_, err := e.core.CoreV1().Services(service.Namespace).UpdateStatus(ctx, service, metav1.UpdateOptions{})
			return err
		})
	}
}

func waitsForAddress(service *corev1.Service) bool {
	class := service.Spec.LoadBalancerClass
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer &&
		(class == nil || *class == balancerClass) &&
		service.DeletionTimestamp == nil &&
		len(service.Status.LoadBalancer.Ingress) == 0 &&
		service.Annotations[pendingAnnotation] != "true"
}

func freeAddress(taken map[string]bool) string {
	subnet := netip.MustParsePrefix(BalancerSubnet)
	// Past the address of the subnet itself and the node's, and before the broadcast address.
	for address := subnet.Addr().Next().Next(); subnet.Contains(address.Next()); address = address.Next() {
		if !taken[address.String()] {
			return address.String()
		}
	}
	return ""
}
