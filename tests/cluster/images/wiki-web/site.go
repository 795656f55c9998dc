package main

import (
	"html/template"
	"log"
	"net/http"
)

var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{{.Title}}</title></head>
<body>
<h1>{{.Title}}</h1>
<p>{{.Welcome}}</p>
<p>Visits: {{.Visits}}</p>
<p>The welcome and the counter were read through the database.</p>
</body>
</html>
`))

type site struct {
	title string
	db    database
}

func (s site) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /{$}", s.page)
	return mux
}

// health is good only while the database lets us in: that is what the page needs.
func (s site) health(w http.ResponseWriter, r *http.Request) {
	if err := s.db.ping(r.Context()); err != nil {
		unavailable(w, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (s site) page(w http.ResponseWriter, r *http.Request) {
	visits, welcome, err := s.db.visit(r.Context())
	if err != nil {
		unavailable(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	shown := struct {
		Title, Welcome string
		Visits         int64
	}{s.title, welcome, visits}
	if err := page.Execute(w, shown); err != nil {
		log.Print("wiki-web: the page was not sent: ", err)
	}
}

// unavailable logs what the database said; its errors never repeat the password.
func unavailable(w http.ResponseWriter, err error) {
	log.Print("wiki-web: the database is not available: ", err)
	http.Error(w, "the database is not available", http.StatusServiceUnavailable)
}
