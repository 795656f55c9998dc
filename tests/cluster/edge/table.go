package edge

import (
	"cmp"
	"net"
	"slices"
	"strings"
)

// A match says which requests are meant.
type match struct {
	// host is a name, a wildcard as *.example.com, or empty for every host.
	host string
	// oneLabel says that the wildcard stands for one label, as in an Ingress, and not for several.
	oneLabel bool
	// path is the whole path if exact, and else its first elements.
	path  string
	exact bool
}

type entry struct {
	match  match
	target *target
}

// A table is in the order of precedence: the first match is the one. Among equals the older wins,
// because the sorting is stable and older routes were added first.
type table []entry

func (t table) sort() {
	slices.SortStableFunc(t, func(a, b entry) int {
		return cmp.Or(
			// A name before a wildcard before everything, and the longer name first.
			-cmp.Compare(hostRank(a.match.host), hostRank(b.match.host)),
			-cmp.Compare(len(a.match.host), len(b.match.host)),
			-cmp.Compare(rank(a.match.exact), rank(b.match.exact)),
			-cmp.Compare(len(a.match.path), len(b.match.path)),
		)
	})
}

func hostRank(host string) int {
	return rank(host != "") + rank(host != "" && !strings.HasPrefix(host, "*"))
}

func rank(better bool) int {
	if better {
		return 1
	}
	return 0
}

// find returns the target for a request, or nil. The host is as in the request, perhaps with a port.
func (t table) find(host, path string) *target {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(host)
	for _, e := range t {
		if e.match.hasHost(host) && e.match.hasPath(path) {
			return e.target
		}
	}
	return nil
}

func (m match) hasHost(host string) bool {
	if m.host == "" || m.host == host {
		return true
	}
	if !covers(m.host, host) {
		return false
	}
	wild := strings.TrimSuffix(host, strings.TrimPrefix(m.host, "*"))
	return !m.oneLabel || !strings.Contains(wild, ".")
}

// hasPath compares whole elements: /a means /a/b and not /ab.
func (m match) hasPath(path string) bool {
	if m.exact {
		return path == m.path
	}
	prefix := strings.TrimSuffix(m.path, "/")
	rest, found := strings.CutPrefix(path, prefix)
	return found && (rest == "" || rest[0] == '/')
}
