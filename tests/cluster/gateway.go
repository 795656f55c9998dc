package main

import (
	"context"
	"os"
	"path/filepath"

	"installation-operator/tests/cluster/edge"
)

// installDefinitions makes the kinds of the Gateway API known while other components start: the API
// server takes seconds to read them. build.sh puts the definitions beside this binary.
func (s *supervisor) installDefinitions(ctx context.Context) {
	progress("installing the Gateway API")
	go func() {
		executable, err := os.Executable()
		if err == nil {
			err = edge.InstallDefinitions(ctx, s.admin, filepath.Join(filepath.Dir(executable), "definitions"))
		}
		s.definitions <- err
	}()
}

// startEdge starts the gateway, the load balancers and what grows volumes.
func (s *supervisor) startEdge(ctx context.Context) error {
	if err := <-s.definitions; err != nil {
		return err
	}
	if err := s.waitReady(ctx, s.newest(), func(ctx context.Context) error {
		return edge.DefinitionsServed(ctx, s.admin)
	}); err != nil {
		return err
	}
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	endpoint := edge.Endpoint{Address: loopback, Port: int32(ports[0])}
	if err := s.writeKubeconfigFor("edge", edge.User); err != nil {
		return err
	}
	if err := edge.Install(ctx, s.admin, endpoint); err != nil {
		return err
	}
	progress("starting the gateway on %s", endpoint)
	p, err := s.start("edge", ownVerb("edge", s.layout.kubeconfig("edge"), endpoint.String()))
	if err != nil {
		return err
	}
	if err := s.waitReady(ctx, p, func(ctx context.Context) error { return edge.Programmed(ctx, s.admin) }); err != nil {
		return err
	}
	s.state.Gateway = endpoint.String()
	return nil
}

// serveEdge is the process itself. Its arguments are a kubeconfig and where to listen.
func serveEdge(args []string) int {
	config, err := configOf(args[0])
	if err != nil {
		return fail(err)
	}
	endpoint, err := edge.ParseEndpoint(args[1])
	if err != nil {
		return fail(err)
	}
	return fail(edge.Run(context.Background(), config, endpoint))
}
