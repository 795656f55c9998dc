package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// No image runs as root; the number has a meaning in none of them.
const imageUser = "10001:10001"

// An image is a configuration over layers, each of them a directory tree.
type image struct {
	name   string
	trees  []string
	config v1.Config
	// user is the owner of the process where it is not imageUser.
	user string
	// files are more content, by path.
	files map[string]string
}

// images lists what the registry offers. build.sh puts our own programs beside this binary, each
// in a tree of its own.
func images(ctx context.Context) ([]image, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	built := func(program string) string { return filepath.Join(filepath.Dir(executable), "images", program) }
	redis, err := redisTree(ctx)
	if err != nil {
		return nil, err
	}
	probe := v1.Config{Entrypoint: []string{"/probe"}, Cmd: []string{"serve"}, ExposedPorts: exposed("8080/tcp")}
	return []image{
		{
			name:   "pause",
			trees:  []string{built("pause")},
			config: v1.Config{Entrypoint: []string{"/pause"}},
		},
		{
			name:   "probe",
			trees:  []string{built("probe")},
			config: probe,
		},
		{
			// Only the image itself knows the number behind the name: the kubelet does not.
			name:   "probe-named-user",
			trees:  []string{built("probe")},
			config: probe,
			user:   "prober",
			files:  map[string]string{"etc/passwd": "prober:x:10002:10003::/:/probe\n", "etc/group": "prober:x:10003:\n"},
		},
		{
			name:   "wiki-web",
			trees:  []string{built("wiki-web"), built("environment")},
			config: v1.Config{Entrypoint: []string{"/wiki-web"}, ExposedPorts: exposed("8080/tcp")},
		},
		{
			name:   "redis",
			trees:  []string{redis, built("redis-entrypoint"), built("environment")},
			config: v1.Config{Entrypoint: []string{"/redis-entrypoint"}, ExposedPorts: exposed("6379/tcp")},
		},
	}, nil
}

func exposed(ports ...string) map[string]struct{} {
	set := map[string]struct{}{}
	for _, port := range ports {
		set[port] = struct{}{}
	}
	return set
}

// pushImages fills the registry and records each image by its digest.
func (s *supervisor) pushImages(ctx context.Context) error {
	all, err := images(ctx)
	if err != nil {
		return err
	}
	progress("pushing images")
	for _, i := range all {
		reference, err := i.push(ctx, s.state.Registry.Address)
		if err != nil {
			return fmt.Errorf("image %s: %w", i.name, err)
		}
		s.state.Images[i.name] = reference
	}
	return nil
}

// push returns the reference by digest.
func (i image) push(ctx context.Context, registry string) (string, error) {
	built, err := i.build()
	if err != nil {
		return "", err
	}
	tag, err := name.NewTag(registry+"/"+i.name+":1.0.0", name.Insecure)
	if err != nil {
		return "", err
	}
	if err := remote.Write(tag, built, remote.WithContext(ctx)); err != nil {
		return "", err
	}
	digest, err := built.Digest()
	return tag.Repository.Digest(digest.String()).String(), err
}

func (i image) build() (v1.Image, error) {
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	var layers []v1.Layer
	for _, tree := range i.trees {
		layer, err := layerOf(tree)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	if len(i.files) > 0 {
		layer, err := layerOfFiles(i.files)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	layered, err := mutate.AppendLayers(base, layers...)
	if err != nil {
		return nil, err
	}
	file, err := layered.ConfigFile()
	if err != nil {
		return nil, err
	}
	file.OS, file.Architecture = "linux", runtime.GOARCH
	file.Config = i.config
	file.Config.User = cmp.Or(i.user, imageUser)
	return mutate.ConfigFile(layered, file)
}

func layerOf(tree string) (v1.Layer, error) {
	content, err := tarOf(tree)
	if err != nil {
		return nil, err
	}
	return layerOfTar(content)
}

// layerOfFiles makes no directories: unpacking does.
func layerOfFiles(files map[string]string) (v1.Layer, error) {
	var packed bytes.Buffer
	archive := tar.NewWriter(&packed)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: path, Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(files[path])), Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(archive, files[path]); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return layerOfTar(packed.Bytes())
}

func layerOfTar(content []byte) (v1.Layer, error) {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer),
		// The registry is on this machine: time matters, size does not.
		tarball.WithCompressionLevel(gzip.BestSpeed), tarball.WithCompressedCaching)
}

// tarOf packs a tree so that equal trees give equal bytes, and so equal digests: names in order,
// no times, no owners.
func tarOf(tree string) ([]byte, error) { return tarBelow("", tree) }

// tarBelow packs a tree as one that lies in a directory of that name.
func tarBelow(prefix, tree string) ([]byte, error) {
	var packed bytes.Buffer
	archive := tar.NewWriter(&packed)
	err := filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == tree {
			return err
		}
		return addToTar(archive, prefix, tree, path, entry)
	})
	if err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

func addToTar(archive *tar.Writer, prefix, tree, path string, entry fs.DirEntry) error {
	relative, err := filepath.Rel(tree, path)
	if err != nil {
		return err
	}
	relative = filepath.Join(prefix, relative)
	header := &tar.Header{Name: relative, Mode: 0o755, Format: tar.FormatPAX}
	switch {
	case entry.IsDir():
		header.Typeflag, header.Name = tar.TypeDir, relative+"/"
		return archive.WriteHeader(header)
	case entry.Type()&fs.ModeSymlink != 0:
		header.Typeflag = tar.TypeSymlink
		if header.Linkname, err = os.Readlink(path); err != nil {
			return err
		}
		return archive.WriteHeader(header)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	header.Typeflag, header.Size = tar.TypeReg, int64(len(content))
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = archive.Write(content)
	return err
}
