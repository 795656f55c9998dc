package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// A layout knows where everything of one cluster lies. All of it is below one data directory,
// so that removing that directory removes every file of the cluster.
type layout struct {
	name string
	root string
}

// A name becomes part of paths and of a lock's name, and is typed by people.
var clusterName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

func layoutOf(name string) (layout, error) {
	if !clusterName.MatchString(name) {
		return layout{}, fmt.Errorf("%q is no cluster name: use up to 32 lower-case letters, digits and inner dashes", name)
	}
	cache, err := cacheDir()
	if err != nil {
		return layout{}, err
	}
	return layout{name: name, root: filepath.Join(cache, "clusters", name)}, nil
}

// cacheDir is what all clusters share and what outlives them: built binaries and packages.
func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory: set HOME or XDG_CACHE_HOME: %w", err)
	}
	return filepath.Join(base, "installation-operator"), nil
}

func (l layout) path(elements ...string) string {
	return filepath.Join(append([]string{l.root}, elements...)...)
}

func (l layout) state() string                { return l.path("state.json") }
func (l layout) kubeconfig(who string) string { return l.path("kubeconfig", who) }
func (l layout) pki(file string) string       { return l.path("pki", file) }
func (l layout) log(process string) string    { return l.path("logs", process+".log") }
func (l layout) auditLog() string             { return l.path("logs", "audit.log") }
func (l layout) config(file string) string    { return l.path("config", file) }

// volumes holds the directories behind PersistentVolumes.
func (l layout) volumes() string { return l.path("volumes") }

// create makes the directory tree, readable by its owner alone: it holds private keys.
func (l layout) create() error {
	for _, dir := range []string{"kubeconfig", "pki", "logs", "config", "volumes"} {
		if err := os.MkdirAll(l.path(dir), 0o700); err != nil {
			return err
		}
	}
	return nil
}
