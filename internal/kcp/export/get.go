package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// requestTimeout bounds one request. A page of APIBindings takes far less.
	requestTimeout = 15 * time.Second
	// maxAnswer bounds what is read of one answer, in bytes. etcd takes objects of 1.5 MiB
	// at most, and a list comes in pages.
	maxAnswer = 32 << 20
	// maxStatus bounds what is read of a refusal, in bytes.
	maxStatus = 64 << 10
)

// Get reads JSON below the address of a virtual workspace. What the server refuses is
// an error of the API machinery; only one that the server itself wrote lacks the cause
// UnexpectedServerResponse. No error holds anything of an answer that isn't a refusal.
func (c *Client) Get(ctx context.Context, at string, into any) error {
	return get(ctx, c.views, at, into)
}

func get(ctx context.Context, client *http.Client, at string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return fmt.Errorf("kcp: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // it repeats the address
		}
		return fmt.Errorf("%s: %w", req.URL.Host, err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if resp.StatusCode != http.StatusOK {
		return refusal(resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return fmt.Errorf("%s: reading its answer: %w", req.URL.Host, err)
	}
	if len(body) > maxAnswer {
		return fmt.Errorf("%s: its answer is larger than %d bytes", req.URL.Host, maxAnswer)
	}
	if json.Unmarshal(body, into) != nil {
		// What the decoder complains of may be secret.
		return fmt.Errorf("%s: its answer can't be read: it isn't the JSON that was asked for", req.URL.Host)
	}
	return nil
}

// refusal is the error of an answer that isn't 200.
func refusal(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxStatus))
	var status metav1.Status
	if err == nil && json.Unmarshal(body, &status) == nil && status.Kind == "Status" && int(status.Code) == resp.StatusCode && status.Status == metav1.StatusFailure {
		return &apierrors.StatusError{ErrStatus: status}
	}
	return apierrors.NewGenericServerResponse(resp.StatusCode, "get", schema.GroupResource{}, "", "", 0, true)
}
