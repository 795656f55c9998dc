package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Kubernetes has this path compiled in for the volumes it makes on the host.
const provisionedVolumes = "/tmp/hostpath_pv"

// hideMachine gives this process, which must have a mount name space of its own, private empty
// directories in place of those that Kubernetes would litter. Every mount made from here on ends
// with the last process in the name space, so that no way of dying leaves one behind.
func hideMachine(l layout, directories ...string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts cannot be made private: %w", err)
	}
	// The data directory may lie below one of them: hold it, to put it back.
	held, err := unix.Open(l.root, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(held)
	for _, directory := range directories {
		if err := unix.Mount("tmpfs", directory, "tmpfs", 0, "mode=1777"); err != nil {
			return fmt.Errorf("%s cannot be hidden: %w", directory, err)
		}
		if strings.HasPrefix(l.root, directory+"/") {
			if err := bind(fmt.Sprintf("/proc/self/fd/%d", held), l.root); err != nil {
				return err
			}
		}
	}
	return bind(l.volumes(), provisionedVolumes)
}

func bind(source, target string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("%s cannot be seen at %s: %w", source, target, err)
	}
	return nil
}
