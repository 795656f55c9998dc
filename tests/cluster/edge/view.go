package edge

import (
	"context"
	"log"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayclient "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"
	gatewayinformers "sigs.k8s.io/gateway-api/pkg/client/informers/externalversions"
)

// A view is everything that decisions are made from, at one moment. Its objects belong to the
// cache: who wants to change one copies it first.
type view struct {
	classes    []*gatewayv1.GatewayClass
	gateways   []*gatewayv1.Gateway
	httpRoutes []*gatewayv1.HTTPRoute
	grpcRoutes []*gatewayv1.GRPCRoute
	ingresses  []*networkingv1.Ingress
	services   []*corev1.Service
	slices     []*discoveryv1.EndpointSlice
	namespaces []*corev1.Namespace
	claims     []*corev1.PersistentVolumeClaim
	volumes    []*corev1.PersistentVolume
}

// A watched cluster is a cache that the API server keeps current.
type watched struct {
	core    informers.SharedInformerFactory
	gateway gatewayinformers.SharedInformerFactory
}

// watch returns once the cache is filled; the channel then holds a first change.
func watch(ctx context.Context, core kubernetes.Interface, gateway gatewayclient.Interface) (watched, chan struct{}) {
	w := watched{
		core:    informers.NewSharedInformerFactory(core, 0),
		gateway: gatewayinformers.NewSharedInformerFactory(gateway, 0),
	}
	changed := make(chan struct{}, 1)
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { poke(changed) },
		UpdateFunc: func(any, any) { poke(changed) },
		DeleteFunc: func(any) { poke(changed) },
	}
	for _, informer := range w.informers() {
		if _, err := informer.AddEventHandler(handler); err != nil {
			log.Fatalf("an informer that has not started takes no handler: %v", err)
		}
	}
	w.core.Start(ctx.Done())
	w.gateway.Start(ctx.Done())
	w.core.WaitForCacheSync(ctx.Done())
	w.gateway.WaitForCacheSync(ctx.Done())
	poke(changed)
	return w, changed
}

func (w watched) informers() []cache.SharedIndexInformer {
	gateway := w.gateway.Gateway().V1()
	return []cache.SharedIndexInformer{
		gateway.GatewayClasses().Informer(),
		gateway.Gateways().Informer(),
		gateway.HTTPRoutes().Informer(),
		gateway.GRPCRoutes().Informer(),
		w.core.Networking().V1().Ingresses().Informer(),
		w.core.Core().V1().Services().Informer(),
		w.core.Discovery().V1().EndpointSlices().Informer(),
		w.core.Core().V1().Namespaces().Informer(),
		w.core.Core().V1().PersistentVolumeClaims().Informer(),
		w.core.Core().V1().PersistentVolumes().Informer(),
	}
}

func (w watched) view() view {
	gateway := w.gateway.Gateway().V1()
	return view{
		classes:    all(gateway.GatewayClasses().Lister()),
		gateways:   all(gateway.Gateways().Lister()),
		httpRoutes: all(gateway.HTTPRoutes().Lister()),
		grpcRoutes: all(gateway.GRPCRoutes().Lister()),
		ingresses:  all(w.core.Networking().V1().Ingresses().Lister()),
		services:   all(w.core.Core().V1().Services().Lister()),
		slices:     all(w.core.Discovery().V1().EndpointSlices().Lister()),
		namespaces: all(w.core.Core().V1().Namespaces().Lister()),
		claims:     all(w.core.Core().V1().PersistentVolumeClaims().Lister()),
		volumes:    all(w.core.Core().V1().PersistentVolumes().Lister()),
	}
}

// all cannot fail: a lister reads memory.
func all[T any](lister interface {
	List(labels.Selector) ([]T, error)
}) []T {
	found, _ := lister.List(labels.Everything())
	return found
}
