package edge

import "testing"

func TestTheMostSpecificEntryWins(t *testing.T) {
	names := map[*target]string{}
	var entries table
	add := func(name string, m match) {
		to := &target{}
		names[to] = name
		entries = append(entries, entry{match: m, target: to})
	}
	// The least specific first, so that only sorting can put it right.
	add("all", match{path: "/"})
	add("wild", match{host: "*.example", path: "/"})
	add("one label", match{host: "*.label", oneLabel: true, path: "/"})
	add("name", match{host: "a.example", path: "/"})
	add("younger", match{host: "a.example", path: "/"})
	add("prefix", match{host: "a.example", path: "/b"})
	add("longer", match{host: "a.example", path: "/b/c/"})
	add("exact", match{host: "a.example", path: "/b", exact: true})
	entries.sort()
	for _, row := range []struct{ host, path, want string }{
		{"other", "/x", "all"},
		{"example", "/", "all"},
		{"b.example", "/", "wild"},
		{"c.b.example", "/", "wild"},
		{"a.label", "/", "one label"},
		{"b.a.label", "/", "all"},
		{"a.example", "/", "name"},
		{"A.Example:8080", "/bb", "name"},
		{"a.example", "/b/", "prefix"},
		{"a.example", "/b/c", "longer"},
		{"a.example", "/b/c/d", "longer"},
		{"a.example", "/b", "exact"},
	} {
		if got := names[entries.find(row.host, row.path)]; got != row.want {
			t.Errorf("%s%s leads to %q, wanted %q", row.host, row.path, got, row.want)
		}
	}
}
