package main

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
)

// openFiles opens the directory that files lie in, which no path leads out of: a test that sees its
// file has seen the volume.
func openFiles() (*os.Root, error) {
	return os.OpenRoot(cmp.Or(os.Getenv("PROBE_FILES"), "/data"))
}

func readFile(w http.ResponseWriter, r *http.Request) {
	content, err := readBelow(r.PathValue("path"))
	if err != nil {
		answerFailure(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(content)
}

func readBelow(file string) ([]byte, error) {
	directory, err := openFiles()
	if err != nil {
		return nil, err
	}
	defer directory.Close()
	return directory.ReadFile(file)
}

func writeFile(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err == nil {
		err = writeBelow(r.PathValue("path"), content)
	}
	if err != nil {
		answerFailure(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func writeBelow(file string, content []byte) error {
	directory, err := openFiles()
	if err != nil {
		return err
	}
	defer directory.Close()
	if err := directory.MkdirAll(path.Dir(file), 0o777); err != nil {
		return err
	}
	return directory.WriteFile(file, content, 0o666)
}

// answerFailure says what the file system said.
func answerFailure(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if errors.Is(err, fs.ErrNotExist) {
		status = http.StatusNotFound
	}
	http.Error(w, err.Error(), status)
}
