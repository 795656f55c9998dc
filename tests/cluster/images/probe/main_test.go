package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestHealthIsAsTold(t *testing.T) {
	server := httptest.NewServer(handler())
	defer server.Close()
	mustAnswer(t, server.URL, http.MethodGet, "/healthz", http.StatusOK)
	mustAnswer(t, server.URL, http.MethodPost, "/fail", http.StatusOK)
	mustAnswer(t, server.URL, http.MethodGet, "/healthz", http.StatusServiceUnavailable)
	mustAnswer(t, server.URL, http.MethodPost, "/ok", http.StatusOK)
	mustAnswer(t, server.URL, http.MethodGet, "/healthz", http.StatusOK)
}

func TestTheEnvironmentIsShownExactly(t *testing.T) {
	t.Setenv("SHOWN", "a=b\n\"c\"")
	recorder := httptest.NewRecorder()
	handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/env", nil))
	shown := map[string]string{}
	if err := json.NewDecoder(recorder.Body).Decode(&shown); err != nil {
		t.Fatal(err)
	}
	if shown["SHOWN"] != "a=b\n\"c\"" {
		t.Errorf("shown is %q", shown["SHOWN"])
	}
}

func TestTheArgumentsAreShownExactly(t *testing.T) {
	given := os.Args
	defer func() { os.Args = given }()
	os.Args = []string{"/probe", "serve", "$(HOME)", ""}
	recorder := httptest.NewRecorder()
	handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/args", nil))
	var shown []string
	if err := json.NewDecoder(recorder.Body).Decode(&shown); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(shown, os.Args[1:]) {
		t.Errorf("shown is %q", shown)
	}
}

func TestFilesAreKeptBelowOneDirectory(t *testing.T) {
	t.Setenv("PROBE_FILES", t.TempDir())
	server := httptest.NewServer(handler())
	defer server.Close()
	mustAnswer(t, server.URL, http.MethodGet, "/files/a/b", http.StatusNotFound)
	if status, _ := ask(t, http.MethodPut, server.URL+"/files/a/b", "kept"); status != http.StatusNoContent {
		t.Errorf("a write answers %d", status)
	}
	if status, content := ask(t, http.MethodGet, server.URL+"/files/a/b", ""); status != http.StatusOK || content != "kept" {
		t.Errorf("a read answers %d, %q", status, content)
	}
	if status, _ := ask(t, http.MethodPut, server.URL+"/files/..%2Foutside", "escaped"); status != http.StatusInternalServerError {
		t.Errorf("a write outside answers %d", status)
	}
}

func TestWithoutItsDirectoryNoFileIsWritten(t *testing.T) {
	t.Setenv("PROBE_FILES", t.TempDir()+"/missing")
	server := httptest.NewServer(handler())
	defer server.Close()
	mustAnswer(t, server.URL, http.MethodPut, "/files/a", http.StatusNotFound)
}

func TestAnExitMayTakeItsTimeWhoeverAsks(t *testing.T) {
	if os.Getenv("PROBE_TEST_EXIT") != "" {
		exit([]string{"3", "1"})
	}
	command := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), "PROBE_TEST_EXIT=1")
	begin := time.Now()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	_ = command.Process.Signal(syscall.SIGTERM)
	_ = command.Wait()
	if code := command.ProcessState.ExitCode(); code != 3 {
		t.Errorf("the exit code is %d", code)
	}
	if took := time.Since(begin); took < time.Second {
		t.Errorf("it ended after %s", took)
	}
}

func TestAPacketComesBack(t *testing.T) {
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	go func() { _ = echo(packets) }()
	connection, err := net.Dial("udp", packets.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 16)
	if length, err := connection.Read(answer); err != nil || string(answer[:length]) != "ping" {
		t.Errorf("the answer is %q, %v", answer[:length], err)
	}
}

func ask(t *testing.T, method, url, body string) (status int, content string) {
	t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func mustAnswer(t *testing.T, base, method, path string, status int) {
	t.Helper()
	if answered, _ := ask(t, method, base+path, ""); answered != status {
		t.Errorf("%s %s answers %d", method, path, answered)
	}
}
