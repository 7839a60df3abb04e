# frozen_string_literal: true

module Plait
  module HTTP
    class CookieJar
      # Hosts and domains as RFC 6265 compares them, in lower case, and paths.
      module Matching
        ADDRESS = /\A(?:\d{1,3}(?:\.\d{1,3}){3}|.*:.*)\z/m
        private_constant :ADDRESS

        module_function

        # §5.1.3
        # @return [Boolean] whether the host is the domain, or a name below it
        def domain?(host, domain)
          host == domain || (host.end_with?(".#{domain}") && !address?(host))
        end

        # @return [Boolean] whether it is no name, so that nothing can be below it
        def address?(host) = ADDRESS.match?(host)

        # §5.1.4
        # @return [Boolean] whether what is asked for is the path, or below it
        def path?(asked, path)
          asked == path || (asked.start_with?(path) && (path.end_with?("/") || asked[path.size] == "/"))
        end
      end
    end
  end
end
