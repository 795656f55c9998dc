package edge

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func labelled(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

func newBalancer(name string) *corev1.Service {
	service := newService(name, corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolUDP})
	service.Spec.Type = corev1.ServiceTypeLoadBalancer
	return service
}

func TestEachBalancerGetsAnAddressOfItsOwn(t *testing.T) {
	served := newBalancer("served")
	served.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.215.0.2"}}
	ours := newBalancer("ours")
	ours.Spec.LoadBalancerClass = pointer(balancerClass)
	d := decide(view{services: []*corev1.Service{newBalancer("a"), served, ours}}, here)
	addresses := map[string]string{}
	for _, service := range d.services {
		addresses[service.Name] = service.Status.LoadBalancer.Ingress[0].IP
	}
	if want := map[string]string{"a": "10.215.0.3", "ours": "10.215.0.4"}; fmt.Sprint(addresses) != fmt.Sprint(want) {
		t.Errorf("the addresses are %v", addresses)
	}
}

func TestABalancerWaitsOrIsNotOurs(t *testing.T) {
	pending, other, inner := newBalancer("pending"), newBalancer("other"), newBalancer("inner")
	pending.Annotations = map[string]string{pendingAnnotation: "true"}
	other.Spec.LoadBalancerClass = pointer("another.example/lb")
	inner.Spec.Type = corev1.ServiceTypeClusterIP
	v := view{services: []*corev1.Service{pending, other, inner}}
	if d := decide(v, here); len(d.changes) != 0 {
		t.Errorf("%d changes", len(d.changes))
	}
	pending.Annotations = nil
	if d := decide(v, here); len(d.services) != 1 || d.services[0].Name != "pending" {
		t.Errorf("changed are %v", d.services)
	}
}

func TestTheSubnetOfBalancersEnds(t *testing.T) {
	taken := map[string]bool{}
	for address := freeAddress(taken); address != ""; address = freeAddress(taken) {
		taken[address] = true
	}
	if len(taken) != 253 || taken["10.215.0.1"] || taken["10.215.0.255"] {
		t.Errorf("%d addresses", len(taken))
	}
}

func TestAVolumeGrowsBeforeItsClaim(t *testing.T) {
	size := func(text string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(text)}
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data", Annotations: map[string]string{pendingAnnotation: "true"}},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv", Resources: corev1.VolumeResourceRequirements{Requests: size("2Gi")}},
		Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: size("1Gi")},
	}
	v := view{
		claims:  []*corev1.PersistentVolumeClaim{claim},
		volumes: []*corev1.PersistentVolume{{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{Capacity: size("1Gi")}}},
	}
	if d := decide(v, here); len(d.changes) != 0 {
		t.Error("it does not wait")
	}
	claim.Annotations = nil
	d := decide(v, here)
	if len(d.volumes) != 1 || len(d.claims) != 0 || d.volumes[0].Spec.Capacity.Storage().String() != "2Gi" {
		t.Fatalf("changed are %v, %v", d.volumes, d.claims)
	}
	v.volumes = d.volumes
	d = decide(v, here)
	if len(d.volumes) != 0 || len(d.claims) != 1 || d.claims[0].Status.Capacity.Storage().String() != "2Gi" {
		t.Fatalf("changed are %v, %v", d.volumes, d.claims)
	}
	v.claims = d.claims
	if d := decide(v, here); len(d.changes) != 0 {
		t.Errorf("%d changes of what has grown", len(d.changes))
	}
}
