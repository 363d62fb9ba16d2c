package provider

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// groupPath is where our kinds are, below a workspace.
var groupPath = "/apis/" + v1alpha1.SchemeGroupVersion.String()

// longestAnswer is how many bytes of an answer are read.
const longestAnswer = 1 << 20

// told is an answer.
type told struct {
	code    int
	status  string
	failure *metav1.Status // nil: it is no API status
	kinds   bool           // it is the discovery of our kinds
}

// ask a URL, which is sent as it is written.
func ask(ctx context.Context, client *http.Client, url string) (*told, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(io.LimitReader(resp.Body, longestAnswer))
	if err != nil {
		return nil, err
	}
	out := &told{code: resp.StatusCode, status: resp.Status}
	var kind metav1.TypeMeta
	if json.Unmarshal(body, &kind) != nil {
		return out, nil
	}
	switch kind.Kind {
	case "Status":
		out.failure = &metav1.Status{}
		if json.Unmarshal(body, out.failure) != nil {
			out.failure = nil
		}
	case "APIResourceList":
		var list metav1.APIResourceList
		out.kinds = json.Unmarshal(body, &list) == nil && list.GroupVersion == v1alpha1.SchemeGroupVersion.String() && len(list.APIResources) > 0
	}
	return out, nil
}
