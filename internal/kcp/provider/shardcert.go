package provider

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// checkShardCertificate calls our door as a shard does at a discovery, where it has the
// certificate of one.
func (o *Options) checkShardCertificate(ctx context.Context, r *Report) error {
	if o.ShardCertificate == nil {
		return nil
	}
	client, err := o.caller(o.ShardCertificate)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for _, u := range o.URLs {
		code, status, err := discover(ctx, client, u)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			r.unknown(Finding{
				fmt.Sprintf("whether %s lets shards in isn't known: %v", u, err),
				"look from where the shards are",
			})
		case code == http.StatusUnauthorized || code == http.StatusForbidden:
			name, issuer := subject(o.ShardCertificate)
			r.fault(Finding{
				fmt.Sprintf("%s refuses the shard %q: %s", u, name, status),
				fmt.Sprintf("serve with a --kcp-shard-client-ca-file that has the authority %q, --kcp-shard-allowed-names that %q fits, and the --kcp-path-prefix of --url; "+
					"what is in front of this server must pass TLS through, or show such a certificate itself", issuer, name),
			})
		case code != http.StatusOK:
			r.fault(Finding{
				fmt.Sprintf("%s answers a shard's discovery with %s", u, status),
				"have the router send it to this server, with the path as it is; the log of the server says more",
			})
		}
	}
	return nil
}

// discover asks for our kinds as a shard asks.
func discover(ctx context.Context, client *http.Client, base string) (code int, status string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/clusters/%%2A/apis/%s", base, v1alpha1.SchemeGroupVersion), http.NoBody)
	if err != nil {
		return 0, "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	return resp.StatusCode, resp.Status, resp.Body.Close()
}

// subject of a certificate, and who signed it.
func subject(c *tls.Certificate) (name, issuer string) {
	leaf, err := x509.ParseCertificate(c.Certificate[0])
	if err != nil {
		return "", ""
	}
	return leaf.Subject.CommonName, leaf.Issuer.CommonName
}
