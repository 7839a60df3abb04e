# frozen_string_literal: true

module Support
  # Tests of what is to be right under Async's loop, too.
  module NeedingAsync
    private

    def need_async
      require "async"
    rescue LoadError
      skip("the gem async is not installed: bin/setup test drivers")
    end
  end
end
