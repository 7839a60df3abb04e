# frozen_string_literal: true

require "plait/shard"

# A busy machine exceeds the seconds that a proxy waits by default. Tests name shorter ones where they need them.
{ Settings: { DEFAULTS: { connect_timeout: 20.0, timeout: 50.0 } }, Lease: { LASTS: 60 } }.each do |holder, constants|
  holder = Plait::Shard.const_get(holder)
  constants.each do |name, patient|
    before = holder.send(:remove_const, name)
    holder.const_set(name, patient.is_a?(Hash) ? before.merge(patient).freeze : patient)
  end
end
