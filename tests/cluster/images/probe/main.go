// Command probe is the container that integration tests look out of: it shows the environment it
// was given, is healthy or not as told, keeps files, sleeps, or ends with a code.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const usage = "usage: probe serve [WORDS] | probe sleep | probe exit CODE [AFTER-SECONDS]"

func main() {
	switch {
	case len(os.Args) >= 2 && os.Args[1] == "serve":
		serve()
	case len(os.Args) == 2 && os.Args[1] == "sleep":
		waitForSignal()
	case (len(os.Args) == 3 || len(os.Args) == 4) && os.Args[1] == "exit":
		exit(os.Args[2:])
	default:
		failUsage()
	}
}

// serve answers on port 8080 until a signal ends it. A UDP packet comes back as it is.
//
//	GET  /args     the arguments as one JSON list
//	GET  /env      the environment as one JSON object
//	GET  /healthz  200, or 503 after POST /fail and until POST /ok
//	GET  /files/F  the file F below PROBE_FILES, or 404
//	PUT  /files/F  writes it, and the directories that it lies in
func serve() {
	go func() {
		waitForSignal()
		os.Exit(0)
	}()
	packets, err := net.ListenPacket("udp", ":8080")
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(echo(packets)) }()
	log.Fatal(http.ListenAndServe(":8080", handler()))
}

func echo(packets net.PacketConn) error {
	packet := make([]byte, 1<<16)
	for {
		length, from, err := packets.ReadFrom(packet)
		if err != nil {
			return err
		}
		if _, err := packets.WriteTo(packet[:length], from); err != nil {
			log.Printf("no answer to %s: %v", from, err)
		}
	}
}

func handler() http.Handler {
	var failing atomic.Bool
	mux := http.NewServeMux()
	mux.HandleFunc("GET /args", func(w http.ResponseWriter, _ *http.Request) { show(w, os.Args[1:]) })
	mux.HandleFunc("GET /env", func(w http.ResponseWriter, _ *http.Request) { show(w, environment()) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if failing.Load() {
			http.Error(w, "failing as told", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("POST /fail", func(http.ResponseWriter, *http.Request) { failing.Store(true) })
	mux.HandleFunc("POST /ok", func(http.ResponseWriter, *http.Request) { failing.Store(false) })
	mux.HandleFunc("GET /files/{path...}", readFile)
	mux.HandleFunc("PUT /files/{path...}", writeFile)
	return mux
}

func show(w http.ResponseWriter, content any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(content)
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

// exit ends with a code, perhaps after some seconds. A signal does not end it sooner: a job that is
// at work does not stop because someone asks.
func exit(args []string) {
	var numbers []int
	for _, arg := range args {
		number, err := strconv.Atoi(arg)
		if err != nil {
			failUsage()
		}
		numbers = append(numbers, number)
	}
	if len(numbers) == 2 {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		time.Sleep(time.Duration(numbers[1]) * time.Second)
	}
	os.Exit(numbers[0])
}

func failUsage() {
	fmt.Fprintln(os.Stderr, usage)
	os.Exit(2)
}
