export { ConsistentHashLoadBalancer, type ConsistentHashOptions } from "./consistent-hash-load-balancer.ts";
export {
  type DispatchableTask,
  type DispatchingLoadBalancerLike,
  type DispatchOptions,
  isDispatchingLoadBalancer,
  type ResultStream,
  type SendOptions,
} from "./dispatching-load-balancer.ts";
export { LeastLoadedLoadBalancer } from "./least-loaded-load-balancer.ts";
export {
  type DispatchOutcome,
  isLoadBalancer,
  type LoadBalancerContextView,
  type LoadBalancerLike,
  type TaskInfo,
} from "./load-balancer.ts";
export { LoadBalancerContext } from "./load-balancer-context.ts";
export { PowerOfTwoLoadBalancer, type PowerOfTwoOptions } from "./power-of-two-load-balancer.ts";
export { ReadOnlyMap } from "./read-only-map.ts";
export { RoundRobinLoadBalancer } from "./round-robin-load-balancer.ts";
