# frozen_string_literal: true

require "plait/values/errors"

module Plait
  class Server
    # A config.ru.
    module RackupFile
      module_function

      # @param path [String]
      # @return [#call] the app
      # @raise [UsageError] when there is none, or it can't be loaded, or wants the process to exit
      # @raise [UnsupportedError] without the gem rack
      def load(path)
        raise UsageError, "there is no file #{path}: name the config.ru of the app, or go to its folder" unless File.file?(path)

        require_rack
        app, = Rack::Builder.parse_file(File.expand_path(path)) # before Rack 3 with its options
        app
      rescue SystemExit => e
        raise UsageError, "#{path} can't be loaded: it exits with #{e.status}#{place(e, path)}"
      rescue StandardError, ScriptError, SystemStackError => e
        raise if e.is_a?(Error)

        raise UsageError, "#{path} can't be loaded: #{e.message.strip} (#{e.class})#{place(e, path)}"
      end

      # @api private
      def require_rack
        require "rack"
      rescue LoadError
        raise UnsupportedError, "the gem rack is needed to load a config.ru: add it to the app's Gemfile (gem install rack)"
      end

      # @api private
      def place(error, path)
        line = error.backtrace&.find { |entry| entry.include?(File.basename(path)) } || error.backtrace&.first
        line ? " at #{line}" : ""
      end
    end
  end
end
