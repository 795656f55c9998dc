// Command probe is the container that integration tests look out of: it shows the environment it
// was given, is healthy or not as told, sleeps, or ends with a code.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

const usage = "usage: probe serve | probe sleep | probe exit CODE"

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "serve":
		serve()
	case len(os.Args) == 2 && os.Args[1] == "sleep":
		waitForSignal()
	case len(os.Args) == 3 && os.Args[1] == "exit":
		exit(os.Args[2])
	default:
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
}

// serve answers on port 8080 until a signal ends it.
//
//	GET  /env      the environment as one JSON object
//	GET  /healthz  200, or 503 after POST /fail and until POST /ok
func serve() {
	go func() {
		waitForSignal()
		os.Exit(0)
	}()
	log.Fatal(http.ListenAndServe(":8080", handler()))
}

func handler() http.Handler {
	var failing atomic.Bool
	mux := http.NewServeMux()
	mux.HandleFunc("GET /env", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(environment())
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if failing.Load() {
			http.Error(w, "failing as told", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("POST /fail", func(http.ResponseWriter, *http.Request) { failing.Store(true) })
	mux.HandleFunc("POST /ok", func(http.ResponseWriter, *http.Request) { failing.Store(false) })
	return mux
}

func environment() map[string]string {
	variables := map[string]string{}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		variables[name] = value
	}
	return variables
}

func waitForSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	<-signals
}

func exit(code string) {
	number, err := strconv.Atoi(code)
	if err != nil {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	os.Exit(number)
}
