package main

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cgroupRoot is below what every hierarchy calls its root: all cgroups of pods lie under it.
const cgroupRoot = "/installation-operator"

// makeCgroups makes the root in every hierarchy: the kubelet wants to find it.
func makeCgroups() error {
	hierarchies, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	var failures []error
	for _, hierarchy := range hierarchies {
		failures = append(failures, os.MkdirAll(hierarchy+cgroupRoot, 0o755))
	}
	return errors.Join(failures...)
}

// removeCgroups expects that no process is left in them.
func removeCgroups() error {
	hierarchies, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	var failures []error
	for _, hierarchy := range hierarchies {
		failures = append(failures, removeCgroupTree(hierarchy+cgroupRoot))
	}
	return errors.Join(failures...)
}

// removeCgroupTree removes directories alone, the deepest first: the files in them are the kernel's.
func removeCgroupTree(root string) error {
	var directories []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			directories = append(directories, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	slices.Reverse(directories)
	for _, directory := range directories {
		err = errors.Join(err, os.Remove(directory))
	}
	return err
}

// cgroupHierarchies returns where they are mounted: one for version 2, many for version 1.
func cgroupHierarchies() ([]string, error) {
	mounts, err := os.Open("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	defer mounts.Close()
	var found []string
	lines := bufio.NewScanner(mounts)
	for lines.Scan() {
		// device, mount point, type
		fields := strings.Fields(lines.Text())
		if len(fields) > 2 && (fields[2] == "cgroup" || fields[2] == "cgroup2") {
			found = append(found, fields[1])
		}
	}
	return found, lines.Err()
}
