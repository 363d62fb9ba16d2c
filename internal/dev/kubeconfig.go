package dev

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// WriteKubeconfig writes a kubeconfig for server (https://HOST:PORT) that holds
// the admin's certificate and key themselves, so that the file works from
// anywhere. It is readable by this user alone.
func WriteKubeconfig(path, server string, pki PKI) error {
	ca, err := os.ReadFile(pki.CACert)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	crt, err := os.ReadFile(pki.AdminCert)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	key, err := os.ReadFile(pki.AdminKey)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	const name = "infra-dev"
	c := clientcmdapi.NewConfig()
	// On loopback compressing a long list takes longer than sending it.
	c.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca, DisableCompression: true}
	c.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: crt, ClientKeyData: key}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: "admin"}
	c.CurrentContext = name
	content, err := clientcmd.Write(*c)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	return writePrivate(path, content)
}
