package main

import (
	"fmt"
	"os"

	"github.com/fsnotify/fsnotify"
)

// openVolumes makes each new volume writable for everyone, as a volume's own file system would be
// for the group of a pod: the kubelet leaves the owner of a directory of the machine alone, and
// Kubernetes makes it for root. It returns once no new volume can be missed.
func openVolumes() error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	if err := watcher.Add(provisionedVolumes); err != nil {
		return err
	}
	go func() {
		for event := range watcher.Events {
			if !event.Has(fsnotify.Create) {
				continue
			}
			if err := os.Chmod(event.Name, 0o777); err != nil {
				fmt.Fprintf(os.Stderr, "a volume stays closed to all but root: %v\n", err)
			}
		}
	}()
	return nil
}
