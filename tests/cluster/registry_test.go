package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func TestEachRegistryServesTheSameToWhoMayReadIt(t *testing.T) {
	if _, err := exec.LookPath("docker-registry"); err != nil {
		t.Skip("docker-registry is not installed: the first cluster with a node installs it")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := &supervisor{layout: layout{name: "test", root: t.TempDir()}, died: make(chan *process, 3)}
	authority, err := newAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	s.authority = authority
	if err := s.layout.create(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.layout.pki("ca.crt"), authority.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	defer s.stopFrom(0)
	if err := s.startRegistries(context.Background()); err != nil {
		t.Fatal(err)
	}
	a, err := artifactOf("flux", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(s.state.Registry.Address+"/items/empty:1", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.push(context.Background(), tag); err != nil {
		t.Fatal(err)
	}
	known := remote.WithAuth(&authn.Basic{Username: s.state.Registry.User, Password: s.state.Registry.Password})
	trusting := remote.WithTransport(s.registryClient().Transport)
	for address, options := range map[string][]name.Option{s.state.Registry.PasswordAddress: {name.Insecure}, s.state.Registry.TLSAddress: nil} {
		reference, err := name.NewTag(address+"/items/empty:1", options...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := remote.Get(reference, known, trusting); err != nil {
			t.Errorf("with the password: %v", err)
		}
		if _, err := remote.Get(reference, trusting); err == nil {
			t.Errorf("%s lets in whoever comes", address)
		}
	}
	if _, err := http.Get("https://" + s.state.Registry.TLSAddress + "/v2/"); err == nil {
		t.Error("who does not know the authority trusts the registry")
	}
}

func TestArtifactsAreAsTheToolsWriteThem(t *testing.T) {
	item := filepath.Join(t.TempDir(), "wiki")
	if err := os.Mkdir(item, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(item, "item.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for like, want := range map[string]struct {
		layer, config, kind string
		names               []string
	}{
		"flux": {"application/vnd.cncf.flux.content.v1.tar+gzip", "application/vnd.cncf.flux.config.v1+json", "", []string{"item.yaml"}},
		"oras": {"application/vnd.oci.image.layer.v1.tar+gzip", "application/vnd.oci.empty.v1+json", "application/vnd.unknown.artifact.v1", []string{"wiki/item.yaml"}},
	} {
		a, err := artifactOf(like, item)
		if err != nil {
			t.Fatal(err)
		}
		m := a.manifest
		if string(m.Layers[0].MediaType) != want.layer || string(m.Config.MediaType) != want.config || m.ArtifactType != want.kind {
			t.Errorf("%s: the manifest is %+v", like, m)
		}
		if names := namesIn(t, unpacked(t, a.layer)); !slices.Equal(names, want.names) {
			t.Errorf("%s: the layer holds %q", like, names)
		}
	}
	if _, err := artifactOf("another", item); err == nil {
		t.Error("an unknown tool is imitated")
	}
}

func unpacked(t *testing.T, layer v1.Layer) []byte {
	t.Helper()
	stored, err := layer.Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	content, err := gzip.NewReader(stored)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAnImageMayHaveAUserOfItsOwn(t *testing.T) {
	for user, want := range map[string]string{"": imageUser, "prober": "prober"} {
		built, err := image{user: user, files: map[string]string{"etc/passwd": "prober:x:1:1::/:/\n"}}.build()
		if err != nil {
			t.Fatal(err)
		}
		config, err := built.ConfigFile()
		if err != nil || config.Config.User != want {
			t.Errorf("the user is %q, %v", config.Config.User, err)
		}
		layers, err := built.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatalf("%d layers, %v", len(layers), err)
		}
		archive := tar.NewReader(bytes.NewReader(unpacked(t, layers[0])))
		if header, err := archive.Next(); err != nil || header.Name != "etc/passwd" {
			t.Errorf("the layer begins with %+v, %v", header, err)
		}
	}
}
