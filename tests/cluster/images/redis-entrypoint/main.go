// Command redis-entrypoint starts redis-server with the password that REDIS_PASSWORD holds.
//
// The configuration goes through a pipe that redis reads as its standard input, so that the
// password appears on no command line, in no file, and not in the environment of the server.
package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

const (
	server           = "/usr/bin/redis-server"
	passwordVariable = "REDIS_PASSWORD"
)

func main() {
	if err := execRedis(os.Getenv(passwordVariable), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "redis-entrypoint:", err)
		os.Exit(1)
	}
}

// execRedis returns only when it fails.
func execRedis(password string, args []string) error {
	if password == "" {
		return fmt.Errorf("%s is not set: the server would let anyone in", passwordVariable)
	}
	if err := becomeStandardInput(configuration(password)); err != nil {
		return err
	}
	// "-" means that the configuration is read from standard input.
	return syscall.Exec(server, append([]string{server, "-"}, args...), environmentWithoutPassword())
}

func configuration(password string) string {
	return "bind 0.0.0.0\n" +
		"save \"\"\n" +
		"requirepass " + quoted(password) + "\n"
}

// quoted escapes every byte, so that no password can end the string or add a line.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		fmt.Fprintf(&b, `\x%02x`, text[i])
	}
	b.WriteByte('"')
	return b.String()
}

// becomeStandardInput relies on a pipe holding 64 KiB before anyone reads it.
func becomeStandardInput(text string) error {
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	if _, err := writer.WriteString(text); err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	// Unlike the pipe's own end, the copy stays open across exec.
	return syscall.Dup2(int(reader.Fd()), syscall.Stdin)
}

func environmentWithoutPassword() []string {
	var kept []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, passwordVariable+"=") {
			kept = append(kept, entry)
		}
	}
	return kept
}
