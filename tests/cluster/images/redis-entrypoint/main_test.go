package main

import (
	"slices"
	"strings"
	"testing"
)

func TestNoPasswordEscapesItsQuotes(t *testing.T) {
	configured := configuration("a\"\nrename-command \\")
	if lines := strings.Count(configured, "\n"); lines != 3 {
		t.Errorf("%d lines:\n%s", lines, configured)
	}
	if !strings.Contains(configured, `requirepass "\x61\x22\x0a\x72`) {
		t.Errorf("the password is not escaped:\n%s", configured)
	}
}

func TestTheServerDoesNotInheritThePassword(t *testing.T) {
	t.Setenv(passwordVariable, "secret")
	t.Setenv("OTHER", "kept")
	environment := environmentWithoutPassword()
	if slices.Contains(environment, passwordVariable+"=secret") || !slices.Contains(environment, "OTHER=kept") {
		t.Errorf("the server would see %q", environment)
	}
}

func TestWithoutAPasswordNothingStarts(t *testing.T) {
	if err := execRedis("", nil); err == nil || !strings.Contains(err.Error(), passwordVariable) {
		t.Errorf("the error is %v", err)
	}
}
