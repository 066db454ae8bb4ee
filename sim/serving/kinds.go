package serving

import (
	"fmt"
	"time"
)

// Kinds are the engines whose metrics can be spoken.
func Kinds() []string {
	return []string{"vllm-v0", "vllm", "sglang", "tgi", "triton-trtllm", "trtllm", "dynamo", "llamacpp"}
}

// says is what a rank has to say.
type says struct {
	*rank
	number int
	awake  bool
}

// tell tells of a rank as an engine of that kind does. What moves only at the end of
// a request there does so here.
func tell(kind string, x *exposition, r says) {
	model := fmt.Sprintf("model_name=%q", x.model)
	switch kind {
	case "vllm-v0":
		tellVLLM(x, r, model)
	case "vllm":
		labels := join(fmt.Sprintf(`engine="%d"`, r.number), model)
		tellVLLM(x, r, labels)
		x.sample("vllm:engine_sleep_state", "gauge", labels+`,sleep_state="awake"`, number(r.awake))
		x.sample("vllm:engine_sleep_state", "gauge", labels+`,sleep_state="discard_all"`, number(!r.awake))
		x.histogram("vllm:inter_token_latency_seconds", labels, r.between)
	case "sglang":
		tellSGLang(x, r, model)
	case "tgi":
		x.sample("tgi_batch_current_size", "gauge", "", float64(r.running))
		x.sample("tgi_queue_size", "gauge", "", float64(r.waiting))
		x.sample("tgi_batch_inference_success", "counter", `method="decode"`, float64(r.steps))
		x.sample("tgi_request_success", "counter", "", float64(r.finished))
		x.histogram("tgi_request_mean_time_per_token_duration", "", r.whole)
	case "triton-trtllm":
		tellTriton(x, r)
	case "trtllm":
		x.sample("trtllm_num_requests_running", "gauge", model, float64(r.running))
		x.sample("trtllm_num_requests_waiting", "gauge", model, float64(r.waiting))
		tellTRTLLM(x, r, model)
	case "dynamo":
		labels := `dynamo_component="backend",dynamo_endpoint=`
		x.sample("dynamo_component_inflight_requests", "gauge", labels+`"generate"`, float64(r.running+r.waiting))
		x.sample("dynamo_component_inflight_requests", "gauge", labels+`"clear_kv_blocks"`, 0)
		tellTRTLLM(x, r, model)
	case "llamacpp":
		x.sample("llamacpp:requests_processing", "gauge", "", float64(r.running))
		x.sample("llamacpp:requests_deferred", "gauge", "", float64(r.waiting))
		x.sample("llamacpp:n_decode_total", "counter", "", float64(r.steps))
		x.sample("llamacpp:tokens_predicted_total", "counter", "", float64(r.doneTokens))
	}
}

func tellVLLM(x *exposition, r says, labels string) {
	x.sample("vllm:num_requests_running", "gauge", labels, float64(r.running))
	x.sample("vllm:num_requests_waiting", "gauge", labels, float64(r.waiting))
	x.sample("vllm:prompt_tokens_total", "counter", labels, float64(r.prompt))
	x.sample("vllm:generation_tokens_total", "counter", labels, float64(r.generated))
	x.sample("vllm:request_success_total", "counter", labels+`,finished_reason="length"`, float64(r.finished))
	x.histogram("vllm:time_to_first_token_seconds", labels, r.firstToken)
	x.histogram("vllm:time_per_output_token_seconds", labels, r.between)
}

// shown is what SGLang's scheduler has told of its requests last.
type shown struct {
	running, waiting, steps int
	at                      time.Time
}

// idleShow is how often the scheduler tells of its requests while nothing is computed.
const idleShow = 30 * time.Second

// show brings what is told up to date: with the steps of decoding, and while there are
// none from time to time.
func (r *rank) show(now time.Time) shown {
	if s := &r.shown; r.steps != s.steps || now.Sub(s.at) >= idleShow {
		*s = shown{r.running, r.waiting, r.steps, now}
	}
	return r.shown
}

func tellSGLang(x *exposition, r says, model string) {
	labels := join(model, `tp_rank="0"`)
	now := r.show(time.Now())
	x.sample("sglang:num_running_reqs", "gauge", labels, float64(now.running))
	x.sample("sglang:num_queue_reqs", "gauge", labels, float64(now.waiting))
	x.sample("sglang:prompt_tokens_total", "counter", labels, float64(r.donePrompt))
	x.sample("sglang:generation_tokens_total", "counter", labels, float64(r.doneTokens))
	x.sample("sglang:num_requests_total", "counter", labels, float64(r.finished))
	x.histogram("sglang:time_to_first_token_seconds", labels, r.firstToken)
	x.histogram("sglang:inter_token_latency_seconds", labels, r.between)
}

func tellTriton(x *exposition, r says) {
	const model = `model="tensorrt_llm",version="1"`
	for _, kind := range []struct {
		name string
		n    int
	}{{"waiting", r.waiting}, {"scheduled", r.running}, {"active", r.running + r.waiting}, {"max", 512}} {
		x.sample("nv_trt_llm_request_metrics", "gauge", model+fmt.Sprintf(",request_type=%q", kind.name), float64(kind.n))
	}
	x.sample("nv_inference_request_success", "counter", model, float64(r.finished))
	x.sample("nv_inference_exec_count", "counter", model, float64(r.finished))
	x.sample("nv_inference_pending_request_count", "gauge", model, 0)
}

func tellTRTLLM(x *exposition, r says, model string) {
	labels := join(model, `engine_type="trtllm"`)
	x.sample("trtllm_request_success_total", "counter", labels+`,finished_reason="length"`, float64(r.finished))
	x.histogram("trtllm_time_per_output_token_seconds", labels, r.whole)
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
