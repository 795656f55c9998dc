package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// An address where nothing listens: the discard port of loopback.
const nowhere = "127.0.0.1:9"

func TestWithoutTheDatabaseNothingIsServedAndNothingTold(t *testing.T) {
	db := openDatabase(nowhere, "hidden-password")
	defer db.close()
	handler := site{title: "Wiki", db: db}.handler()
	for _, path := range []string{"/", "/healthz"} {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
		if recorder.Code != http.StatusServiceUnavailable {
			t.Errorf("%s answers %d", path, recorder.Code)
		}
		if body := recorder.Body.String(); strings.Contains(body, "hidden") || strings.Contains(body, nowhere) {
			t.Errorf("%s tells %q", path, body)
		}
	}
}

func TestSettingsNameWhatIsMissing(t *testing.T) {
	complete := map[string]string{"REDIS_ADDRESS": "a:1", "REDIS_PASSWORD": "hidden", "SITE_TITLE": "Wiki"}
	for missing := range complete {
		_, err := settingsFromEnvironment(func(name string) string {
			if name == missing {
				return ""
			}
			return complete[name]
		})
		if err == nil || !strings.Contains(err.Error(), missing) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("without %s the error is %v", missing, err)
		}
	}
}
