package main

import (
	"fmt"
	"net"
	"syscall"
)

// A lock is a socket in the kernel's abstract name space: the kernel releases it with the process
// that holds it, however that process ended, it leaves no file behind, and it names its holder.
// Nothing here trusts a process id from a file.
type lock struct {
	name string
}

// supervisorLock is held by the supervisor of a cluster for as long as it lives.
func supervisorLock(l layout) lock {
	return lock{name: "@installation-operator/supervisor/" + l.root}
}

// acquire takes the lock until it is released or the process ends, or says that it is held.
func (k lock) acquire() (release func() error, err error) {
	listener, err := net.Listen("unix", k.name)
	if err != nil {
		return nil, fmt.Errorf("the lock is not free: %w", err)
	}
	go answerQuestions(listener)
	return listener.Close, nil
}

// answerQuestions takes connections off the queue: a full one would look like a free lock.
func answerQuestions(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		_ = connection.Close()
	}
}

// holder returns the process that holds the lock, or false when no process does.
func (k lock) holder() (pid int, held bool) {
	connection, err := net.Dial("unix", k.name)
	if err != nil {
		return 0, false
	}
	defer connection.Close()
	raw, err := connection.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, false
	}
	err = raw.Control(func(fd uintptr) {
		credentials, failed := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
		if failed == nil {
			pid, held = int(credentials.Pid), true
		}
	})
	return pid, held && err == nil
}
