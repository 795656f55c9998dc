package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"time"

	"golang.org/x/crypto/bcrypt"
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

const registryTLS = `  tls:
    certificate: %s
    key: %s
`

const registryPasswords = `auth:
  htpasswd:
    realm: local-cluster
    path: %s
`

const registryUser = "tester"

// A registry is one way to one store: what is pushed to one of them, each of them serves.
type registry struct {
	name          string
	address       string
	tls, password bool
	process       *process
}

func (r *registry) scheme() string {
	if r.tls {
		return "https"
	}
	return "http"
}

// startRegistries serves images over plain HTTP, which container runtimes accept from loopback,
// and the same images behind a password, without and with TLS.
func (s *supervisor) startRegistries(ctx context.Context) error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	registries := []*registry{
		{name: "registry"},
		{name: "registry-password", password: true},
		{name: "registry-tls", password: true, tls: true},
	}
	for i, r := range registries {
		r.address = net.JoinHostPort(loopback, strconv.Itoa(ports[i]))
	}
	password := rand.Text()
	if err := s.writeRegistryCredentials(password); err != nil {
		return err
	}
	progress("starting the registries on %s, %s and %s", registries[0].address, registries[1].address, registries[2].address)
	for _, r := range registries {
		if err := s.startRegistry(r); err != nil {
			return err
		}
	}
	for _, r := range registries {
		at := url.URL{Scheme: r.scheme(), Host: r.address, Path: "/v2/", User: url.UserPassword(registryUser, password)}
		if err := s.waitReady(ctx, r.process, answers(s.registryClient(), at.String())); err != nil {
			return err
		}
	}
	s.state.Registry = registryState{
		Address:         registries[0].address,
		PasswordAddress: registries[1].address,
		TLSAddress:      registries[2].address,
		User:            registryUser,
		Password:        password,
		CA:              s.layout.pki("ca.crt"),
	}
	return s.trustRegistries(registries)
}

func (s *supervisor) writeRegistryCredentials(password string) error {
	// The least cost: it is paid at each request, and the password is random.
	hash, hashErr := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	serving, servingErr := s.authority.server("registry", loopback)
	if err := errors.Join(hashErr, servingErr); err != nil {
		return err
	}
	return errors.Join(
		serving.write(s.layout, "registry"),
		s.writeConfig("htpasswd", fmt.Sprintf("%s:%s\n", registryUser, hash)),
	)
}

func (s *supervisor) startRegistry(r *registry) (err error) {
	text := fmt.Sprintf(registryConfig, s.layout.path("registry"), r.address)
	if r.tls {
		text += fmt.Sprintf(registryTLS, s.layout.pki("registry.crt"), s.layout.pki("registry.key"))
	}
	if r.password {
		text += fmt.Sprintf(registryPasswords, s.layout.config("htpasswd"))
	}
	file := r.name + ".yaml"
	if err := s.writeConfig(file, text); err != nil {
		return err
	}
	r.process, err = s.start(r.name, exec.Command("docker-registry", "serve", s.layout.config(file)))
	return err
}

func (s *supervisor) registryClient() *http.Client {
	pool := x509.NewCertPool()
	pool.AddCert(s.authority.certificate)
	return &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}},
	}
}

// What containerd asks for a registry, and how.
const registryHost = `server = "%[1]s"

[host."%[1]s"]
  capabilities = ["pull", "resolve"]
  ca = "%[2]s"
`

// trustRegistries lets pods run images from each of the registries. The password is not containerd's
// business: pods have pull secrets for that.
func (s *supervisor) trustRegistries(registries []*registry) error {
	for _, r := range registries {
		directory := s.layout.config("registries/" + r.address)
		if err := os.MkdirAll(directory, 0o700); err != nil {
			return err
		}
		text := fmt.Sprintf(registryHost, r.scheme()+"://"+r.address, s.layout.pki("ca.crt"))
		if err := s.writeConfig("registries/"+r.address+"/hosts.toml", text); err != nil {
			return err
		}
	}
	return nil
}
