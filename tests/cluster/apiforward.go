package main

import (
	"context"
	"io"
	"net"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The port on the node's address at which pods reach the API server.
const forwardedPort int32 = 6443

// forwardAPI lets pods reach the API server, which listens on loopback alone: the node's address
// passes connections on, and the Service "kubernetes" points there.
func (s *supervisor) forwardAPI(ctx context.Context) error {
	server, err := url.Parse(s.server)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(nodeAddress, strconv.Itoa(int(forwardedPort))))
	if err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		_ = listener.Close()
	}()
	go forward(listener, server.Host)
	return s.publishAPIAddress(ctx)
}

func forward(listener net.Listener, to string) {
	for {
		incoming, err := listener.Accept()
		if err != nil {
			return
		}
		go join(incoming, to)
	}
}

// join passes bytes both ways until one side ends.
func join(incoming net.Conn, to string) {
	defer incoming.Close()
	outgoing, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer outgoing.Close()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{incoming, outgoing}, {outgoing, incoming}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}

func (s *supervisor) publishAPIAddress(ctx context.Context) error {
	name, port, protocol := "https", forwardedPort, corev1.ProtocolTCP
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "kubernetes",
			Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{nodeAddress}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &protocol}},
	}
	_, err := s.client.DiscoveryV1().EndpointSlices("default").Create(ctx, slice, metav1.CreateOptions{})
	return err
}
