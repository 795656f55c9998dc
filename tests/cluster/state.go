package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

// The domain of the cluster's DNS names.
const clusterDomain = "cluster.local"

// A clusterState is what a cluster tells the outside about itself, in state.json. Tests read it:
// a field that disappears breaks them.
type clusterState struct {
	Name          string `json:"name"`
	PID           int    `json:"pid"`
	Ready         bool   `json:"ready"`
	Kubeconfig    string `json:"kubeconfig"`
	AuditLog      string `json:"auditLog"`
	ClusterDomain string `json:"clusterDomain"`
	// Gateway is where the gateway listens, as host:port.
	Gateway  string            `json:"gateway,omitempty"`
	Node     nodeState         `json:"node"`
	Registry registryState     `json:"registry"`
	Images   map[string]string `json:"images"`
	// KeepData says that the data directory stays when the cluster stops.
	KeepData bool `json:"keepData"`
}

type nodeState struct {
	Available bool   `json:"available"`
	Reason    string `json:"reason,omitempty"`
	// Namespace is the kernel's name for the process name space of the node.
	Namespace string `json:"namespace,omitempty"`
}

type registryState struct {
	// Address is open to all, over plain HTTP.
	Address string `json:"address,omitempty"`
	// PasswordAddress and TLSAddress serve the same to who knows the password.
	PasswordAddress string `json:"passwordAddress,omitempty"`
	TLSAddress      string `json:"tlsAddress,omitempty"`
	User            string `json:"user,omitempty"`
	Password        string `json:"password,omitempty"`
	// CA is a file: who has signed the certificate of TLSAddress.
	CA string `json:"ca,omitempty"`
}

// write replaces state.json as a whole: a reader sees the old state or the new one.
func (s clusterState) write(l layout) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	next := l.state() + ".next"
	if err := os.WriteFile(next, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, l.state())
}

// readState returns the zero state, which is not ready, when there is none.
func readState(l layout) (clusterState, error) {
	text, err := os.ReadFile(l.state())
	if errors.Is(err, fs.ErrNotExist) {
		return clusterState{}, nil
	}
	if err != nil {
		return clusterState{}, err
	}
	var s clusterState
	return s, json.Unmarshal(text, &s)
}
