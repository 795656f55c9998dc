package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// push puts a directory into the registry as one layer of an OCI artifact, and prints the reference
// by digest. Equal directories give equal digests.
func push(args []string) int {
	flags := flag.NewFlagSet("push", flag.ContinueOnError)
	cluster := flags.String("name", defaultName, "which cluster")
	like := flags.String("like", "flux", "whose media types: flux or oras")
	if err := flags.Parse(args); err != nil {
		return fail(err)
	}
	if flags.NArg() != 2 {
		return fail(errors.New("push takes a directory and REPOSITORY:TAG"))
	}
	reference, err := pushDirectory(*cluster, *like, flags.Arg(0), flags.Arg(1))
	if err != nil {
		return fail(err)
	}
	fmt.Println(reference)
	return 0
}

func pushDirectory(cluster, like, directory, repository string) (string, error) {
	l, err := layoutOf(cluster)
	if err != nil {
		return "", err
	}
	s, err := readyState(l)
	if err != nil {
		return "", err
	}
	if s.Registry.Address == "" {
		return "", fmt.Errorf("cluster %s has no registry: %s", cluster, s.Node.Reason)
	}
	tag, err := name.NewTag(s.Registry.Address+"/"+repository, name.Insecure)
	if err != nil {
		return "", err
	}
	a, err := artifactOf(like, directory)
	if err != nil {
		return "", err
	}
	return a.push(context.Background(), tag)
}

// An artifact is what the registry stores: a manifest over two blobs.
type artifact struct {
	manifest      artifactManifest
	config, layer v1.Layer
}

type artifactManifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	Type          types.MediaType   `json:"mediaType"`
	ArtifactType  string            `json:"artifactType,omitempty"`
	Config        v1.Descriptor     `json:"config"`
	Layers        []v1.Descriptor   `json:"layers"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// MediaType and RawManifest are what the registry's client asks of a manifest.
func (m artifactManifest) MediaType() (types.MediaType, error) { return m.Type, nil }
func (m artifactManifest) RawManifest() ([]byte, error)        { return json.Marshal(m) }

// artifactOf packs a directory as a tool does. Flux packs its content, ORAS the directory itself
// with its name.
func artifactOf(like, directory string) (artifact, error) {
	switch like {
	case "flux":
		a, err := packed(directory, "", "application/vnd.cncf.flux.content.v1.tar+gzip",
			"application/vnd.cncf.flux.config.v1+json", `{"architecture":"","os":"","config":{},"rootfs":{"type":"layers","diff_ids":[]}}`)
		a.manifest.Annotations = map[string]string{
			"org.opencontainers.image.created":  "1970-01-01T00:00:00Z",
			"org.opencontainers.image.source":   "local-cluster",
			"org.opencontainers.image.revision": "local",
		}
		return a, err
	case "oras":
		path, err := filepath.Abs(directory)
		if err != nil {
			return artifact{}, err
		}
		title := filepath.Base(path)
		a, err := packed(path, title, "application/vnd.oci.image.layer.v1.tar+gzip",
			"application/vnd.oci.empty.v1+json", "{}")
		if err != nil {
			return artifact{}, err
		}
		a.manifest.ArtifactType = "application/vnd.unknown.artifact.v1"
		a.manifest.Layers[0].Annotations = map[string]string{
			"io.deis.oras.content.unpack":    "true",
			"org.opencontainers.image.title": title,
		}
		return a, nil
	}
	return artifact{}, fmt.Errorf("%q is no tool whose artifacts are known: flux or oras", like)
}

func packed(directory, prefix string, layerType, configType types.MediaType, config string) (artifact, error) {
	content, err := tarBelow(prefix, directory)
	if err != nil {
		return artifact{}, err
	}
	var compressed bytes.Buffer
	compressor := gzip.NewWriter(&compressed)
	if _, err := compressor.Write(content); err != nil {
		return artifact{}, err
	}
	if err := compressor.Close(); err != nil {
		return artifact{}, err
	}
	a := artifact{config: static.NewLayer([]byte(config), configType), layer: static.NewLayer(compressed.Bytes(), layerType)}
	configured, configErr := descriptorOf(a.config)
	layered, layerErr := descriptorOf(a.layer)
	a.manifest = artifactManifest{
		SchemaVersion: 2,
		Type:          types.OCIManifestSchema1,
		Config:        configured,
		Layers:        []v1.Descriptor{layered},
	}
	return a, errors.Join(configErr, layerErr)
}

func descriptorOf(blob v1.Layer) (v1.Descriptor, error) {
	digest, digestErr := blob.Digest()
	size, sizeErr := blob.Size()
	mediaType, typeErr := blob.MediaType()
	return v1.Descriptor{MediaType: mediaType, Digest: digest, Size: size}, errors.Join(digestErr, sizeErr, typeErr)
}

// push returns the reference by digest.
func (a artifact) push(ctx context.Context, tag name.Tag) (string, error) {
	for _, blob := range []v1.Layer{a.config, a.layer} {
		if err := remote.WriteLayer(tag.Repository, blob, remote.WithContext(ctx)); err != nil {
			return "", err
		}
	}
	if err := remote.Put(tag, a.manifest, remote.WithContext(ctx)); err != nil {
		return "", err
	}
	text, err := a.manifest.RawManifest()
	if err != nil {
		return "", err
	}
	digest, _, err := v1.SHA256(bytes.NewReader(text))
	return tag.Repository.Digest(digest.String()).String(), err
}
