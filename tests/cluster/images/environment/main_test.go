package main

import (
	"strings"
	"testing"
)

func TestOnlyValuesThatAreAskedForAreShown(t *testing.T) {
	var out strings.Builder
	list(&out, []string{"TITLE=a=b", "PASSWORD=hidden", "NOTHING="}, []string{"TITLE"})
	if want := "NOTHING (empty)\nPASSWORD (present, not shown)\nTITLE=a=b\n"; out.String() != want {
		t.Errorf("listed is %q, wanted %q", out.String(), want)
	}
}
