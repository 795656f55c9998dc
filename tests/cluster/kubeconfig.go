package main

import (
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig writes a kubeconfig that holds its certificates itself, so that it can be
// handed around as one file.
func writeKubeconfig(path, server string, trusted authority, user keyPair) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["local"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: trusted.pem}
	config.AuthInfos["local"] = &clientcmdapi.AuthInfo{ClientCertificateData: user.certificate, ClientKeyData: user.key}
	config.Contexts["local"] = &clientcmdapi.Context{Cluster: "local", AuthInfo: "local", Namespace: "default"}
	config.CurrentContext = "local"
	return clientcmd.WriteToFile(*config, path)
}

func configOf(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent = "local-cluster"
	// No limit of its own: it asks for little, and nothing may wait for it.
	config.QPS = -1
	return config, nil
}
