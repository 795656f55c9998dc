package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
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

func mustAnswer(t *testing.T, base, method, path string, status int) {
	t.Helper()
	request, err := http.NewRequest(method, base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != status {
		t.Errorf("%s %s answers %s", method, path, response.Status)
	}
}
