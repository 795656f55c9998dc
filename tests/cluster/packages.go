package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The directory where Debian's containernetworking-plugins puts its programs.
const networkPlugins = "/usr/lib/cni"

// What a node and the registry run on, and the Debian package that has it.
var nodePackages = map[string]string{
	"containerd":              "containerd",
	"containerd-shim-runc-v2": "containerd",
	"runc":                    "runc",
	"docker-registry":         "docker-registry",
	"iptables-save":           "iptables",
	"conntrack":               "conntrack",
	networkPlugins + "/ptp":   "containernetworking-plugins",
}

// ensureNodePackages installs what is missing from Debian's packages, and says so.
func ensureNodePackages(ctx context.Context) error {
	missing := missingPackages()
	if len(missing) == 0 {
		return nil
	}
	progress("installing from Debian's packages: %s", strings.Join(missing, " "))
	undo, err := forbidServiceStarts()
	if err != nil {
		return err
	}
	err = aptGet(ctx, "", append([]string{"install", "--yes", "--no-install-recommends"}, missing...)...)
	return errors.Join(err, undo())
}

func missingPackages() []string {
	var missing []string
	for program, debianPackage := range nodePackages {
		if _, err := exec.LookPath(program); err != nil && !slices.Contains(missing, debianPackage) {
			missing = append(missing, debianPackage)
		}
	}
	slices.Sort(missing)
	return missing
}

// aptGet refreshes the package lists only if it does not succeed without.
func aptGet(ctx context.Context, directory string, args ...string) error {
	if runApt(ctx, directory, args...) == nil {
		return nil
	}
	progress("refreshing the package lists")
	if err := runApt(ctx, directory, "update"); err != nil {
		return err
	}
	return runApt(ctx, directory, args...)
}

func runApt(ctx context.Context, directory string, args ...string) error {
	command := exec.CommandContext(ctx, "apt-get", append([]string{"-q", "-o", "DPkg::Lock::Timeout=300"}, args...)...)
	command.Dir = directory
	command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("apt-get %s: %w: %s", args[0], err, bytes.TrimSpace(output))
	}
	return nil
}

// forbidServiceStarts keeps packages from starting services of their own on installation, by the
// hook that Debian has for it. A machine that already has such a hook has decided for itself.
func forbidServiceStarts() (undo func() error, err error) {
	const hook = "/usr/sbin/policy-rc.d"
	file, err := os.OpenFile(hook, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return func() error { return nil }, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = file.WriteString("#!/bin/sh\nexit 101\n")
	return func() error { return os.Remove(hook) }, errors.Join(err, file.Close())
}

// Redis and every library it needs down to the C library: an image has nothing else.
var redisPackages = []string{
	"redis-server", "redis-tools",
	"libatomic1", "libc6", "libcap2", "libgcc-s1", "libgcrypt20", "libgpg-error0", "libjemalloc2",
	"liblz4-1", "liblzf1", "liblzma5", "libssl3", "libstdc++6", "libsystemd0", "libzstd1",
}

// What no server reads: removing it keeps the image small.
var unneededInImages = []string{"etc", "usr/share", "usr/lib/x86_64-linux-gnu/gconv", "lib/systemd", "usr/lib/systemd", "var"}

// redisTree returns a directory with the unpacked packages; it is made once and kept in the cache.
func redisTree(ctx context.Context) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	// Another list of packages, or of what is removed, gives another tree.
	contents := sha256.Sum256([]byte(strings.Join(slices.Concat(redisPackages, unneededInImages), " ")))
	tree := filepath.Join(cache, "packages", fmt.Sprintf("redis-%x", contents[:6]))
	if _, err := os.Stat(tree); err == nil {
		return tree, nil
	}
	progress("downloading Redis from Debian's packages")
	if err := os.MkdirAll(filepath.Dir(tree), 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(tree), "unpacking-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if err := unpackPackages(ctx, work, redisPackages); err != nil {
		return "", err
	}
	return tree, os.Rename(filepath.Join(work, "tree"), tree)
}

func unpackPackages(ctx context.Context, work string, packages []string) error {
	if err := aptGet(ctx, work, append([]string{"download"}, packages...)...); err != nil {
		return err
	}
	archives, err := filepath.Glob(filepath.Join(work, "*.deb"))
	if err != nil {
		return err
	}
	tree := filepath.Join(work, "tree")
	for _, archive := range archives {
		if output, err := exec.CommandContext(ctx, "dpkg", "-x", archive, tree).CombinedOutput(); err != nil {
			return fmt.Errorf("dpkg -x %s: %w: %s", filepath.Base(archive), err, output)
		}
	}
	for _, unneeded := range unneededInImages {
		if err := os.RemoveAll(filepath.Join(tree, unneeded)); err != nil {
			return err
		}
	}
	return nil
}
