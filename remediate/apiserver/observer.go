package apiserver

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// Unanswered is the code that Observe gets for a request without an answer.
const Unanswered = "unanswered"

// Observe hears of every request on the wire, retries included, from any
// goroutine. The verb is get, list, watch, patch, create, update or delete; the resource
// nodes, nodes/status, pods, pods/eviction, events, leases, resourceslices, devicetaintrules,
// selfsubjectaccessreviews or, for every other one, other;
// the code an HTTP status or Unanswered. A watch is heard of when it is answered, not when it ends.
type Observe func(verb, resource, code string, took time.Duration)

type observer struct {
	next    http.RoundTripper
	observe Observe
}

func (o observer) RoundTrip(request *http.Request) (*http.Response, error) {
	verb, resource := describe(request)
	start := time.Now()
	response, err := o.next.RoundTrip(request)
	code := Unanswered
	if err == nil {
		code = strconv.Itoa(response.StatusCode)
	}
	o.observe(verb, resource, code, time.Since(start))
	return response, err
}

// resources are those that are told by name.
var resources = []string{"nodes", "pods", "events", "leases", "resourceslices", "devicetaintrules", "selfsubjectaccessreviews"}

// describe names a request in the terms of the API's authorization.
func describe(request *http.Request) (verb, resource string) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	resource = "other"
	named := true
	for i, part := range parts {
		if !slices.Contains(resources, part) {
			continue
		}
		resource = part
		named = i+1 < len(parts)
		if i+2 < len(parts) {
			resource += "/" + parts[i+2]
		}
		break
	}
	switch {
	case request.Method == http.MethodPatch:
		return "patch", resource
	case request.Method == http.MethodPut:
		return "update", resource
	case request.Method == http.MethodPost:
		return "create", resource
	case request.Method == http.MethodDelete:
		return "delete", resource
	case request.URL.Query().Get("watch") != "":
		return "watch", resource
	case named:
		return "get", resource
	}
	return "list", resource
}

// Wrap has a configuration's requests told to the observer, which may be nil.
func Wrap(config *rest.Config, observe Observe) {
	if observe != nil {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return observer{next: next, observe: observe} })
	}
}
