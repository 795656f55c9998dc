package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"time"
)

const registryConfig = `version: 0.1
log:
  level: warn
  accesslog:
    disabled: true
storage:
  filesystem:
    rootdirectory: %s
  delete:
    enabled: true
http:
  addr: %s
`

// startRegistry serves images over plain HTTP, which container runtimes accept from loopback.
func (s *supervisor) startRegistry(ctx context.Context) error {
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	address := net.JoinHostPort(loopback, strconv.Itoa(ports[0]))
	file := s.layout.config("registry.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, registryConfig, s.layout.path("registry"), address), 0o600); err != nil {
		return err
	}
	progress("starting the registry on %s", address)
	p, err := s.start("registry", exec.Command("docker-registry", "serve", file))
	if err != nil {
		return err
	}
	if err := s.waitReady(ctx, p, answers(&http.Client{Timeout: 5 * time.Second}, "http://"+address+"/v2/")); err != nil {
		return err
	}
	s.state.Registry.Address = address
	return nil
}
