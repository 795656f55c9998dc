package main

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestClusterNames(t *testing.T) {
	for name, good := range map[string]bool{
		"default": true, "a": true, "a-1": true,
		"": false, "-a": false, "a-": false, "A": false, "../a": false, "a/b": false, "a.b": false,
		"a23456789012345678901234567890123": false,
	} {
		if _, err := layoutOf(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestALockNamesItsHolderUntilItIsReleased(t *testing.T) {
	k := lock{name: "@installation-operator/test/" + t.TempDir()}
	if _, held := k.holder(); held {
		t.Fatal("held by no one")
	}
	release, err := k.acquire()
	if err != nil {
		t.Fatal(err)
	}
	// More questions than a queue of connections holds.
	for range 5000 {
		if pid, held := k.holder(); !held || pid != os.Getpid() {
			t.Fatalf("holder is %d, held is %t", pid, held)
		}
	}
	if _, err := k.acquire(); err == nil {
		t.Fatal("acquired twice")
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if _, held := k.holder(); held {
		t.Fatal("held after its release")
	}
}

func TestStateIsReadAsItWasWritten(t *testing.T) {
	l := layout{name: "test", root: t.TempDir()}
	if s, err := readState(l); err != nil || s.Ready {
		t.Fatalf("no state reads as %+v, %v", s, err)
	}
	written := initialState(l, options{keepData: true})
	written.Images["redis"] = "127.0.0.1:1/redis@sha256:0"
	if err := written.write(l); err != nil {
		t.Fatal(err)
	}
	read, err := readState(l)
	if err != nil || read.PID != os.Getpid() || !read.KeepData || read.Images["redis"] != written.Images["redis"] {
		t.Fatalf("read %+v, %v", read, err)
	}
}

func TestEqualTreesGiveEqualLayers(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for i, tree := range []string{first, second} {
		files := []string{"b/program", "a"}
		if i == 1 {
			slices.Reverse(files)
		}
		if err := os.Mkdir(filepath.Join(tree, "b"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if err := os.WriteFile(filepath.Join(tree, file), []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("a", filepath.Join(tree, "link")); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(tree, "a"), time.Time{}, time.Unix(int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	one, err := tarOf(first)
	if err != nil {
		t.Fatal(err)
	}
	other, err := tarOf(second)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, other) {
		t.Error("the layers differ")
	}
	if names := namesIn(t, one); !slices.Equal(names, []string{"a", "b/", "b/program", "link"}) {
		t.Errorf("the layer holds %q", names)
	}
}

func namesIn(t *testing.T, packed []byte) []string {
	t.Helper()
	var names []string
	archive := tar.NewReader(bytes.NewReader(packed))
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
}
