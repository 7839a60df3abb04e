# frozen_string_literal: true

require "async"

# async 2.24 is the newest for Ruby 3.1 and calls IO#timeout, which came with Ruby 3.2: without this every wait on a
# descriptor fails there. Its cost is nothing, so the comparison stays fair to async.
IO.class_eval { def timeout = nil } unless IO.method_defined?(:timeout)

# Where both exist, epoll measured faster than io_uring for what is compared here: async gets the better one.
ENV["IO_EVENT_SELECTOR"] ||= "EPoll" if IO::Event::Selector.const_defined?(:EPoll)
