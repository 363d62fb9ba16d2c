package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"socialweb.computer/infra-apiserver/internal/etcdcerts"
)

// newEtcdCertificates is what the pod of an etcd in the cluster runs first.
func newEtcdCertificates() *cobra.Command {
	var o etcdcerts.Options
	var kubeconfig string
	cmd := &cobra.Command{
		Use:   "etcd-certificates",
		Short: "Make the certificates between an etcd in the cluster and the API server",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return fmt.Errorf("cluster: %w", err)
			}
			if o.Client, err = kubernetes.NewForConfig(config); err != nil {
				return fmt.Errorf("cluster: %w", err)
			}
			return etcdcerts.Run(cmd.Context(), o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster. Empty: that of the pod's service account.")
	fs.StringVar(&o.Namespace, "namespace", "", "Namespace of both Secrets.")
	fs.StringVar(&o.ServerSecret, "server-secret", "", "Secret for the authority and etcd's own certificate. It must exist.")
	fs.StringVar(&o.ClientSecret, "client-secret", "", "Secret for what the API server shows to etcd. It must exist.")
	fs.StringSliceVar(&o.Names, "names", nil, "DNS names at which the API server reaches etcd.")
	fs.StringVar(&o.Dir, "dir", "", "Directory for etcd's ca.crt, tls.crt and tls.key.")
	return cmd
}
