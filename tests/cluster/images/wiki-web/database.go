package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	welcomeKey  = "wiki:welcome"
	welcomeText = "Welcome. This line was written to the database by the first visit."
	visitsKey   = "wiki:visits"
)

type database struct {
	client *redis.Client
}

func openDatabase(address, password string) database {
	return database{client: redis.NewClient(&redis.Options{
		Addr:     address,
		Password: password,
		// Who asks for our health waits a second: answer before, and let them ask again.
		DialTimeout:   500 * time.Millisecond,
		DialerRetries: 1,
		MaxRetries:    -1, // none
	})}
}

func (d database) close() {
	_ = d.client.Close()
}

// ping logs in, if no connection has yet, and asks for a sign of life.
func (d database) ping(ctx context.Context) error {
	return d.client.Ping(ctx).Err()
}

// visit counts a visit and returns the count with the stored welcome, which the first visit stores.
func (d database) visit(ctx context.Context) (visits int64, welcome string, err error) {
	var counted *redis.IntCmd
	var read *redis.StringCmd
	_, err = d.client.TxPipelined(ctx, func(transaction redis.Pipeliner) error {
		transaction.SetNX(ctx, welcomeKey, welcomeText, 0)
		counted = transaction.Incr(ctx, visitsKey)
		read = transaction.Get(ctx, welcomeKey)
		return nil
	})
	if err != nil {
		return 0, "", err
	}
	return counted.Val(), read.Val(), nil
}
