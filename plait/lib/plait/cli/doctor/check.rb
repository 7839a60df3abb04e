# frozen_string_literal: true

require_relative "../command"

module Plait
  module CLI
    class Doctor < Command
      # One thing the doctor looked at.
      #
      # `status` is `:ok`; `:limited`, when it works and holds something back; `:missing`, when it isn't there;
      # `:unknown`, when this system doesn't tell. `value` is for programs, `text` for people, `hint` what to do about
      # it, as a command where there is one.
      Check = Struct.new(:group, :name, :status, :value, :text, :hint, keyword_init: true)
    end
  end
end
