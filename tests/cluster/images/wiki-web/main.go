// Command wiki-web is the web service of the demo: one page, whose text and visit counter live in
// a Redis that wants a password.
package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const address = ":8080"

func main() {
	if err := serve(); err != nil {
		log.Fatal("wiki-web: ", err)
	}
}

// serve answers requests until SIGTERM, and then lets those that are running end.
func serve() error {
	s, err := settingsFromEnvironment(os.Getenv)
	if err != nil {
		return err
	}
	db := openDatabase(s.redisAddress, s.redisPassword)
	defer db.close()

	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	server := &http.Server{Addr: address, Handler: site{title: s.title, db: db}.handler(), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		ending, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(ending)
	}()
	log.Printf("wiki-web: serving %q on %s, database at %s", s.title, address, s.redisAddress)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
